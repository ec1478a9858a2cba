import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { planStoryboard } from '../media/storyboard.ts';
import { elementsOf, parseXml, type XmlElement } from '../media/xml.ts';
import { completeManifest } from './dash-manifest.ts';

/** As the packager writes it: two rungs, two audio tracks, two subtitle tracks of one language; encrypted. */
let packaged: string;
beforeAll(async () => {
  packaged = await readFile(join(import.meta.dirname, '../../test/fixtures/packager.mpd'), 'utf8');
});

const nothing = { keyEndpoint: null, names: new Map(), wholeTexts: new Set<string>(), storyboard: null };
const setsOf = (manifest: string) => elementsOf(parseXml(manifest), 'AdaptationSet');
const schemesOf = (set: XmlElement) =>
  elementsOf(set, 'ContentProtection').map(({ attributes }) => attributes['schemeIdUri']);

describe('the DASH manifest of a stream', () => {
  it('C17.6: every protected set has ClearKey with the escaped address of its licence, and no pssh', () => {
    const manifest = completeManifest(packaged, { ...nothing, keyEndpoint: 'https://m.example/a&b/api/key/h' });
    expect(manifest).toContain('<dashif:Laurl>https://m.example/a&amp;b/api/key/h/clearkey</dashif:Laurl>');
    expect(manifest).not.toContain('pssh');
    const clearKey = ['urn:mpeg:dash:mp4protection:2011', 'urn:uuid:e2719d58-a985-b3c9-781a-b030af78d30e'];
    expect(setsOf(manifest).map(schemesOf)).toEqual([clearKey, clearKey, clearKey, [], []]);
    expect(parseXml(manifest).attributes['xmlns:dashif']).toBe('https://dashif.org/CPS');
    expect(manifest).toContain('value="ClearKey1.0"');
  });

  it('a clear stream names no licence, and content protection of other systems stays', () => {
    const clear = completeManifest(packaged, nothing);
    expect(clear).not.toContain('dashif');
    const other = packaged.replaceAll('urn:mpeg:dash:mp4protection:2011', 'urn:uuid:another-system');
    const [set] = setsOf(completeManifest(other, { ...nothing, keyEndpoint: 'https://m.example/api/key/h' }));
    expect(set && schemesOf(set)).toEqual(['urn:uuid:another-system']);
  });

  it('each audio and text track has a set and a name of its own, and ids are unique', () => {
    const names = new Map([
      ['audio/audio_und_aac_2ch', '<b>Commentary</b>'],
      ['text/text_de', 'German'],
      ['text/text_de_2', 'German 2'],
    ]);
    const sets = setsOf(completeManifest(packaged, { ...nothing, names }));
    expect(sets.map((set) => [set.attributes['id'], elementsOf(set, 'Representation').length])).toEqual([
      ['0', 2],
      ['1', 1],
      ['2', 1],
      ['3', 1],
      ['4', 1],
    ]);
    expect(sets.map((set) => elementsOf(set, 'Label').map(({ text }) => text))).toEqual([
      [],
      [],
      ['<b>Commentary</b>'],
      ['German'],
      ['German 2'],
    ]);
    const order = sets[2]?.children.map(({ name }) => name).slice(-3);
    expect(order).toEqual(['Label', 'Role', 'Representation']);
  });

  it('text that is stored whole is one file, and other text stays in segments', () => {
    const sets = setsOf(completeManifest(packaged, { ...nothing, wholeTexts: new Set(['text_de']) }));
    const addressed = (name: string) => sets.map((set) => elementsOf(set, name).map(({ text }) => text));
    expect(addressed('BaseURL')).toEqual([[], [], [], ['text/text_de/captions.vtt'], []]);
    expect(addressed('SegmentTemplate').map(({ length }) => length)).toEqual([2, 1, 1, 0, 1]);
  });

  it('the storyboard is listed as thumbnail tiles after the other sets', () => {
    const grid = { rate: { num: 25, den: 1 }, gopFrames: 50, segmentFrames: 150 };
    const storyboard = planStoryboard({ width: 1920, height: 1080 }, { frames: 63 * 25, grid });
    const manifest = completeManifest(packaged, { ...nothing, storyboard: { storyboard, bandwidth: 9000 } });
    expect(manifest.split('\n').slice(-9)).toEqual([
      '    <AdaptationSet contentType="image" mimeType="image/jpeg">',
      '      <SegmentTemplate media="storyboard/sheet_$Number$.jpg" duration="60000" timescale="1000" startNumber="1"/>',
      '      <Representation id="storyboard" bandwidth="9000" width="1600" height="270">',
      '        <EssentialProperty schemeIdUri="http://dashif.org/guidelines/thumbnail_tile" value="10x3"/>',
      '      </Representation>',
      '    </AdaptationSet>',
      '  </Period>',
      '</MPD>',
      '',
    ]);
  });
});
