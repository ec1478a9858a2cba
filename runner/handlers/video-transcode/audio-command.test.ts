import { describe, expect, it } from 'vitest';
import type { AudioPlan } from '#domain/media/audio-plan.ts';
import { defaultEncoding } from '#domain/media/encoding-profile.ts';
import { type AudioInput, encodeAudioCommand } from './audio-command.ts';

const track: AudioPlan = {
  id: 'audio_und_aac_2ch',
  streamIndex: 0,
  channels: 2,
  channelLayout: 'stereo',
  outputChannels: 2,
  language: null,
  name: 'Audio',
  role: 'main',
  isDefault: true,
};
const audio: AudioInput['audio'] = [
  { ...track, codec: 'aac', sampleRate: 48_000, language: undefined, title: undefined, role: null, endSec: 10 },
];
const argsOf = (more: Partial<AudioPlan>, video: AudioInput['video'] = { streamIndex: 1 }) =>
  encodeAudioCommand('ffmpeg', {
    source: { path: 'source', audio, video },
    tracks: [{ track: { ...track, ...more }, path: 'a.mp4', gainDb: 0 }],
    samples: 1024,
    profile: defaultEncoding,
  }).args;
const filtersOf = (more: Partial<AudioPlan>) => {
  const args = argsOf(more);
  return args[args.indexOf('-af') + 1] ?? '';
};

describe('the channels of an audio track', () => {
  it.each([
    ['two without a layout', { channelLayout: null }],
    ['5.1', { channels: 6, channelLayout: '5.1' }],
    ['three of an ambisonic layout that has no pair', { channels: 3, channelLayout: 'ambisonic 1' }],
  ])('%s are left to the resampler', (_, more) => {
    expect(filtersOf(more)).toMatch(/^aresample=48000:/);
  });

  it('an ambisonic track is decoded to left and right', () => {
    expect(filtersOf({ channels: 4, channelLayout: 'ambisonic 1' })).toMatch(
      /^pan=stereo\|c0=0\.5\*c0\+0\.5\*c1\|c1=0\.5\*c0-0\.5\*c1,aresample=/,
    );
  });
});

it('time 0 comes from the video too, and from the audio alone where there is no video', () => {
  expect(argsOf({}).join(' ')).toMatch(/a\.mp4 -map 0:1 -map 0:0 -c copy -f null -$/);
  expect(argsOf({}, null).join(' ')).toMatch(/a\.mp4 -map 0:0 -c copy -f null -$/);
});
