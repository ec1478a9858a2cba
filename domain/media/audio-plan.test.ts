import { describe, expect, it } from 'vitest';
import { type AudioSource, planAudio } from './audio-plan.ts';
import { languageName, languageTag } from './languages.ts';

const stream: AudioSource = {
  streamIndex: 1,
  channels: 2,
  channelLayout: 'stereo',
  language: undefined,
  title: undefined,
  isDefault: false,
  role: null,
};

const defaults = (...marks: boolean[]) =>
  planAudio(
    marks.map((isDefault) => ({ ...stream, isDefault })),
    8,
  ).map((plan) => plan.isDefault);

describe('the audio tracks of a stream', () => {
  it('audio tracks keep the order of the source and are named by language', () => {
    const plans = planAudio(
      [
        { ...stream, language: 'eng' },
        { ...stream, streamIndex: 3, language: 'ger' },
      ],
      8,
    );
    expect(plans).toEqual([
      {
        id: 'audio_en_aac_2ch',
        streamIndex: 1,
        channels: 2,
        channelLayout: 'stereo',
        language: 'en',
        name: 'English',
        role: 'main',
        isDefault: true,
      },
      {
        id: 'audio_de_aac_2ch',
        streamIndex: 3,
        channels: 2,
        channelLayout: 'stereo',
        language: 'de',
        name: 'German',
        role: 'alternate',
        isDefault: false,
      },
    ]);
  });

  it('the default audio track is the one that the source marks, else the first', () => {
    expect(defaults(false, true, true)).toEqual([false, true, false]);
    expect(defaults(false, false)).toEqual([true, false]);
  });

  it('an audio track without a language has "und" in its id and a null language', () => {
    expect(planAudio([stream], 8)[0]).toMatchObject({ id: 'audio_und_aac_2ch', language: null, name: 'Audio' });
  });

  it('audio tracks with the same id or name get a number', () => {
    const plans = planAudio([stream, stream, { ...stream, title: 'Audio 2' }], 8);
    expect(plans.map(({ id }) => id)).toEqual(['audio_und_aac_2ch', 'audio_und_aac_2ch_2', 'audio_und_aac_2ch_3']);
    expect(new Set(plans.map(({ name }) => name)).size).toBe(3);
  });

  it('at most eight audio tracks are planned', () => {
    expect(
      planAudio(
        Array.from({ length: 11 }, () => stream),
        8,
      ),
    ).toHaveLength(8);
  });

  it('an audio track is named by its title, without characters that a playlist cannot quote', () => {
    const title = 'Director"s\r\n#EXT-X-EVIL\u2028cut';
    expect(planAudio([{ ...stream, title }], 8)[0]?.name).toBe('Director s #EXT-X-EVIL cut');
  });

  it('an audio track has the role of its source', () => {
    expect(planAudio([stream, { ...stream, role: 'commentary' }], 8).map(({ role }) => role)).toEqual([
      'main',
      'commentary',
    ]);
  });
});

describe('a language tag', () => {
  it.each([
    ['eng', 'en'],
    ['ger', 'de'],
    ['deu', 'de'],
    ['fre', 'fr'],
    ['EN', 'en'],
    ['pt-br', 'pt-BR'],
    ['zh_Hant', 'zh-Hant'],
    ['und', null],
    ['zxx', null],
    ['mul', null],
    ['', null],
    ['english!', null],
    ['a"b', null],
    [undefined, null],
  ])('the language tag of %j is %j', (named, tag) => {
    expect(languageTag(named)).toBe(tag);
  });

  it('a language tag has a name in English', () => {
    expect(languageName('de')).toBe('German');
    expect(languageName('qaa')).toBe('qaa');
  });
});
