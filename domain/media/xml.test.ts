import { describe, expect, it } from 'vitest';
import { elementsOf, parseXml, replaceElements, writeXml, xmlElement } from './xml.ts';

/** Elements within one another, the innermost with text. */
const nested = (levels: number) => `${'<a>'.repeat(levels)}x${'</a>'.repeat(levels)}`;
const document = `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns:a="urn:b" title="&quot;A&quot; &amp; &lt;b&gt; &amp;lt;">
  <a:Empty/>
  <Set>
    <Label>1 &lt; 2</Label>
    <Set id="inner"/>
  </Set>
</MPD>
`;

describe('XML as a tree', () => {
  it('a document is read and written without a loss, and its comments are left out', () => {
    expect(writeXml(parseXml(document.replace('<MPD', '<!-- <not> an & element -->\n<MPD')))).toBe(document);
    const root = parseXml(document);
    expect(root.attributes).toEqual({ 'xmlns:a': 'urn:b', title: '"A" & <b> &lt;' });
    expect(elementsOf(root, 'Label').map(({ text }) => text)).toEqual(['1 < 2']);
    expect(elementsOf(root, 'Set').map(({ attributes }) => attributes['id'])).toEqual([undefined, 'inner']);
  });

  it('attributes may be on lines of their own', () => {
    expect(parseXml('<a\n  b="1"\n  c="2"\n/>')).toEqual(xmlElement('a', { b: '1', c: '2' }));
  });

  it.each([
    ['', 'the document has no one root'],
    ['<a>', 'the document has no one root'],
    ['<a/><b/>', 'the document has no one root'],
    ['<a/>text', 'the document has no one root'],
    ['<a></b>', '</b> is misplaced'],
    ['<a>text<b/></a>', '</a> is misplaced'],
    ['<a b=c/>', 'no XML of the known form at character 0'],
    ['<a b="<"/>', 'no XML of the known form at character 0'],
  ])('the document %j is refused: %s', (refused, message) => {
    expect(() => parseXml(refused)).toThrow(new SyntaxError(message));
  });

  it('a document has at most 32 levels of elements', () => {
    expect(elementsOf(parseXml(nested(32)), 'a')).toHaveLength(31);
    expect(() => parseXml(nested(33))).toThrow(new SyntaxError('over 32 levels of elements'));
  });

  it('elements of a name are replaced by none or several, and those within them are left alone', () => {
    const root = parseXml(document);
    expect(
      elementsOf(
        replaceElements(root, 'Set', () => []),
        'Set',
      ),
    ).toEqual([]);
    const doubled = replaceElements(root, 'Set', (set) => [set, xmlElement('Text', {}, 'x')]);
    expect(doubled.children.map(({ name }) => name)).toEqual(['a:Empty', 'Set', 'Text']);
    expect(elementsOf(doubled, 'Text')).toHaveLength(1);
  });
});
