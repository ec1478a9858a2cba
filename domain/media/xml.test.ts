import { describe, expect, it } from 'vitest';
import { elementsOf, parseXml, replaceElements, writeXml, xmlElement } from './xml.ts';

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

  it.each(['', '<a>', '<a></b>', '<a/><b/>', '<a b=c/>', '<a>text<b/></a>', '<![CDATA[x]]>', '</a>', '<a b="<"/>'])(
    'the document %j is refused',
    (refused) => {
      expect(() => parseXml(refused)).toThrow(SyntaxError);
    },
  );

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
