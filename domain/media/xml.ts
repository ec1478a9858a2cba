// XML as a tree, for the manifests of Shaka Packager: elements with attributes, and text in those without children.
// Comments and the declaration are left out. Anything else is refused, so that unknown output fails and is not misread.

/** An element: either `children` or `text` is empty. Values are unescaped. */
export interface XmlElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  readonly text: string;
}

/** An element with `content`: its children or its text. */
export function xmlElement(
  name: string,
  attributes: XmlElement['attributes'],
  content: readonly XmlElement[] | string = [],
): XmlElement {
  return typeof content === 'string'
    ? { name, attributes, children: [], text: content }
    : { name, attributes, children: content, text: '' };
}

const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const escape = (text: string) => text.replaceAll(/[&<>"]/g, (found) => entities[found as keyof typeof entities]);
const unescape = (text: string) =>
  Object.entries(entities).reduceRight((all, [plain, escaped]) => all.replaceAll(escaped, plain), text);

const token = /<\?[^>]*\?>|<!--[\s\S]*?-->|<\/([\w:]+)>|<([\w:]+)((?:\s+[\w:]+="[^"<]*")*)\s*(\/?)>|([^<]+)/y;

/** A DASH manifest has seven. Each level costs a stack frame, and indentation in every line below it. */
const depthMax = 32;

interface OpenElement {
  readonly name: string;
  readonly attributes: XmlElement['attributes'];
  readonly children: XmlElement[];
  text: string;
}

/** Reads a document. @throws SyntaxError for what is not of the form above */
export function parseXml(document: string): XmlElement {
  const outside: OpenElement = { name: '', attributes: {}, children: [], text: '' };
  const open = [outside];
  token.lastIndex = 0;
  while (token.lastIndex < document.length) {
    const at = token.lastIndex;
    const found = token.exec(document);
    const current = open.at(-1) ?? outside;
    if (found === null) throw new SyntaxError(`no XML of the known form at character ${at}`);
    const [, ending, beginning, attributes = '', isEmpty, text] = found;
    if (text !== undefined) current.text += text.trim();
    else if (beginning !== undefined) {
      const element = { name: beginning, attributes: readAttributes(attributes), children: [], text: '' };
      if (isEmpty === '/') current.children.push(element);
      else if (open.push(element) > depthMax + 1) throw new SyntaxError(`over ${depthMax} levels of elements`);
    } else if (ending !== undefined) {
      const { name, children, text: written, ...rest } = open.pop() ?? outside;
      if (name !== ending || (children.length > 0 && written !== ''))
        throw new SyntaxError(`</${ending}> is misplaced`);
      open.at(-1)?.children.push({ ...rest, name, children, text: unescape(written) });
    }
  }
  const [root, ...others] = outside.children;
  if (root === undefined || others.length > 0 || open.length !== 1 || outside.text !== '')
    throw new SyntaxError('the document has no one root');
  return root;
}

function readAttributes(written: string): Record<string, string> {
  const found = written.matchAll(/([\w:]+)="([^"]*)"/g);
  return Object.fromEntries(Array.from(found, ([, name = '', value = '']) => [name, unescape(value)]));
}

/** Writes a document, two spaces for each level. */
export function writeXml(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${writeElement(root, '')}`;
}

function writeElement({ name, attributes, children, text }: XmlElement, indent: string): string {
  const opening = [name, ...Object.entries(attributes).map(([key, value]) => `${key}="${escape(value)}"`)].join(' ');
  if (text !== '') return `${indent}<${opening}>${escape(text)}</${name}>\n`;
  if (children.length === 0) return `${indent}<${opening}/>\n`;
  const inside = children.map((child) => writeElement(child, `${indent}  `)).join('');
  return `${indent}<${opening}>\n${inside}${indent}</${name}>\n`;
}

/** The elements of a name below `element`, in the order of the document. */
export function elementsOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.flatMap((child) => [...(child.name === name ? [child] : []), ...elementsOf(child, name)]);
}

/** `element` with every outermost element of a name below it replaced by the result of `change`. */
export function replaceElements(
  element: XmlElement,
  name: string,
  change: (found: XmlElement) => readonly XmlElement[],
): XmlElement {
  const children = element.children.flatMap((child) =>
    child.name === name ? change(child) : [replaceElements(child, name, change)],
  );
  return { ...element, children };
}
