import { describe, expect, it } from 'vitest';
import { type AudioSource, planAudio } from './audio-plan.ts';

const stream: AudioSource = {
  streamIndex: 1,
  channels: 2,
  channelLayout: 'stereo',
  language: undefined,
  title: undefined,
  isDefault: false,
  role: null,
};

const stereo = { tracksMax: 8, hasSurround: false };

const defaults = (...marks: boolean[]) =>
  planAudio(
    marks.map((isDefault) => ({ ...stream, isDefault })),
    stereo,
  ).map((plan) => plan.isDefault);

it.each([
  [1, 1, [1]],
  [3, 4, [0, 1, 4]],
  [3, 2, [0, 1, 2]],
  [3, -1, [0, 1, 2]],
])(
  'of five tracks at most %i are taken, and of these number %i, which the source marks',
  (tracksMax, marked, taken) => {
    const sources = [0, 1, 2, 3, 4].map((streamIndex) => ({
      ...stream,
      streamIndex,
      isDefault: streamIndex === marked,
    }));
    const plans = planAudio(sources, { tracksMax, hasSurround: false });
    expect(plans.map(({ streamIndex }) => streamIndex)).toEqual(taken);
    expect(plans.find(({ isDefault }) => isDefault)?.streamIndex).toBe(Math.max(0, marked));
  },
);

describe('the audio tracks of a stream', () => {
  it('audio tracks keep the order of the source and are named by language', () => {
    const plans = planAudio(
      [
        { ...stream, language: 'eng' },
        { ...stream, streamIndex: 3, language: 'ger' },
      ],
      stereo,
    );
    expect(plans).toEqual([
      {
        id: 'audio_en_aac_2ch',
        streamIndex: 1,
        channels: 2,
        channelLayout: 'stereo',
        outputChannels: 2,
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
        outputChannels: 2,
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
    expect(planAudio([stream], stereo)[0]).toMatchObject({ id: 'audio_und_aac_2ch', language: null, name: 'Audio' });
  });

  it('C14.5: audio tracks with the same id or name get a number', () => {
    const plans = planAudio([stream, stream, { ...stream, title: 'Audio 2' }], stereo);
    expect(plans.map(({ id }) => id)).toEqual(['audio_und_aac_2ch', 'audio_und_aac_2ch_2', 'audio_und_aac_2ch_3']);
    expect(new Set(plans.map(({ name }) => name)).size).toBe(3);
  });

  it('at most eight audio tracks are planned', () => {
    expect(
      planAudio(
        Array.from({ length: 11 }, () => stream),
        stereo,
      ),
    ).toHaveLength(8);
  });

  it('an audio track is named by its title, without characters that a playlist cannot quote', () => {
    const title = 'Director"s\r\n#EXT-X-EVIL\u2028cut';
    expect(planAudio([{ ...stream, title }], stereo)[0]?.name).toBe('Director s #EXT-X-EVIL cut');
  });

  it('an audio track has the role of its source', () => {
    expect(planAudio([stream, { ...stream, role: 'commentary' }], stereo).map(({ role }) => role)).toEqual([
      'main',
      'commentary',
    ]);
  });
});

describe('5.1 beside stereo', () => {
  const surround = { tracksMax: 8, hasSurround: true };

  it.each([
    ['5.1(side)', 6],
    ['5.1', 6],
    ['7.1', 8],
  ])('audio of the layout %s has a track of 5.1 beside the stereo one', (channelLayout, channels) => {
    const plans = planAudio([{ ...stream, language: 'eng', channelLayout, channels }, stream], surround);
    expect(plans.map(({ id, name, isDefault, outputChannels }) => [id, name, isDefault, outputChannels])).toEqual([
      ['audio_en_aac_2ch', 'English', true, 2],
      ['audio_en_aac_6ch', 'English', true, 6],
      ['audio_und_aac_2ch', 'Audio', false, 2],
    ]);
  });

  it.each([
    ['no layout', null, 6],
    ['quad', 'quad', 4],
    ['six channels without a deep one', 'hexagonal', 6],
    ['an ambisonic field with 5.1 behind it', 'ambisonic 1+5.1', 10],
  ])('audio of %s is stereo alone', (_, channelLayout, channels) => {
    expect(planAudio([{ ...stream, channelLayout, channels }], surround)).toHaveLength(1);
  });
});
