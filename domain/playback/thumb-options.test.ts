import { describe, expect, it } from 'vitest';
import { parseThumbPresets, readThumbQuery, type ThumbPresets } from './thumb-options.ts';

const none: ThumbPresets = new Map();
const faultsOf = (given: Record<string, string>, presets: ThumbPresets = none) => {
  const read = readThumbQuery(given, presets);
  return 'faults' in read ? read.faults.map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}`) : [];
};
const cover = { w: '100', h: '100', fit: 'cover' };

describe('the options of an image address', () => {
  it.each<[name: string, taken: readonly string[], refused: readonly string[], range: string]>([
    ['w', ['1', '4096'], ['0', '4097', '1.5', '', '-1', '1e3'], 'must be a whole number from 1 to 4096'],
    ['h', ['1', '4096'], ['0', '4097'], 'must be a whole number from 1 to 4096'],
    ['q', ['1', '100'], ['0', '101'], 'must be a whole number from 1 to 100'],
    ['dpr', ['1', '1.5', '4'], ['0.9', '4.01', '0', 'two'], 'must be a number from 1 to 4'],
    ['blur', ['0.3', '100'], ['0.2', '100.1', '0', '1e2'], 'must be a number from 0.3 to 100'],
    ['sharpen', ['0.3', '10'], ['0.2', '10.1'], 'must be a number from 0.3 to 10'],
    ['trim', ['1', '254'], ['0', '255', '1.5'], 'must be a whole number from 1 to 254'],
    ['rotate', ['0', '90', '180', '270'], ['45', '360', '-90', '90.0'], 'must be one of 0, 90, 180, 270'],
    ['background', ['000000', 'Ff00aA'], ['fff', '#ffffff', 'white'], 'must be six hexadecimal digits, such as ffffff'],
    [
      'crop',
      ['0-0-1-1', '10-20-99999-99999'],
      ['0-0-0-1', '0-0-1-0', '1-2-3', '1,2,3,4', '0-0-100000-1', '-1-0-1-1'],
      'must be left-top-width-height in pixels, such as 100-0-640-480, with a width and height of at least 1',
    ],
    ['fit', ['cover', 'contain', 'inside'], ['fill'], 'must be one of cover, contain, inside'],
    [
      'gravity',
      ['center', 'northwest', 'attention', 'entropy'],
      ['left', 'face'],
      'must be one of center, north, northeast, east, southeast, south, southwest, west, northwest, attention, entropy',
    ],
  ])('C20.17: a refusal of `%s` names it and its range', (name, taken, refused, range) => {
    const base = name === 'gravity' ? cover : name === 'dpr' ? { w: '100' } : {};
    for (const value of taken) expect([value, faultsOf({ ...base, [name]: value })]).toEqual([value, []]);
    for (const value of refused)
      expect([value, faultsOf({ ...base, [name]: value })]).toEqual([value, [`${name} ${range}`]]);
  });

  it('C20.17: an option that does not fit the others is refused and says what it needs', () => {
    expect(faultsOf({ w: '100', gravity: 'north' })).toEqual([
      'gravity must come with fit=cover, w and h: it chooses what is cut',
    ]);
    expect(faultsOf({ dpr: '2' })).toEqual(['dpr must come with w or h, which it multiplies']);
    expect(faultsOf({ w: '2048', h: '2049', dpr: '2' })).toEqual(['dpr must leave h × dpr at most 4096, not 2049 × 2']);
    expect(faultsOf({ trim: '10', crop: '0-0-1-1' })).toEqual([
      'trim must come without crop, whose pixels are those of the whole image',
    ]);
    expect(faultsOf({ w: '4096', dpr: '1' })).toEqual([]);
  });

  it('C20.17: an unknown option is refused with the nearest one', () => {
    expect(faultsOf({ sharpn: '1' })[0]).toMatch(/^sharpn is not a known field; .*did you mean \/sharpen\?$/);
  });
});

describe('presets', () => {
  it('C20.18: a preset stands for its options, and those of the address come first', () => {
    const parsed = parseThumbPresets(' card=w:320, h:180,fit:cover ; hero=w:1280;');
    if ('faults' in parsed) throw new Error(parsed.faults.join());
    const { presets } = parsed;
    expect(readThumbQuery({ preset: 'card', h: '90', gravity: 'east' }, presets)).toEqual({
      query: { preset: 'card', w: 320, h: 90, fit: 'cover', gravity: 'east' },
    });
    expect(readThumbQuery({ preset: 'hero' }, presets)).toEqual({ query: { preset: 'hero', w: 1280 } });
    expect(faultsOf({ preset: 'hero', dpr: '4' }, presets)).toEqual([
      'dpr must leave w × dpr at most 4096, not 1280 × 4',
    ]);
  });

  it('C20.18: a preset that the server does not have is refused with those it has', () => {
    expect(faultsOf({ preset: 'toString' }, new Map([['card', {}]]))).toEqual([
      'preset must be a preset of this server: it has card',
    ]);
    expect(faultsOf({ preset: 'card' })).toEqual(['preset must be a preset of this server: it has none']);
  });

  it.each([
    ['card', 'expected name=option:value,… with a name of 1–32 of a–z, 0–9, "_" and "-"'],
    ['Card=w:1', 'expected name=option:value,… with a name of 1–32 of a–z, 0–9, "_" and "-"'],
    ['card=w:1;card=w:2', 'expected the preset card once'],
    ['card=', 'expected option:value, each option once, in the preset card'],
    ['card=w', 'expected option:value, each option once, in the preset card'],
    ['card=w:1,w:2', 'expected option:value, each option once, in the preset card'],
    ['card=w:0', 'expected another w in the preset card: it must be a whole number from 1 to 4096'],
    ['card=width:9', 'expected known options in the preset card, which has width'],
    ['card=exp:9', 'expected known options in the preset card, which has exp'],
    ['card=preset:hero', 'expected known options in the preset card, which has preset'],
  ])('C20.18: the presets %s are refused at the start', (text, fault) => {
    expect(parseThumbPresets(text)).toEqual({ faults: [fault] });
  });
});
