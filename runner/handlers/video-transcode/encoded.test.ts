import { describe, expect, it } from 'vitest';
import { encodedFile, type Encoded, encodedSchema, videoTrackOf } from './encoded.ts';

const track: Encoded['audio'][number] = {
  id: 'audio_en_aac_2ch',
  channels: 2,
  language: 'en',
  name: 'English',
  role: 'main',
  isDefault: true,
  loudness: null,
};
const isAccepted = (more: object) => encodedSchema.shape.audio.safeParse([{ ...track, ...more }]).success;

describe('the audio tracks that the process step reports', () => {
  it.each([
    ['a plan of tracks', {}],
    ['no language', { language: null }],
    ['a language with a region', { language: 'pt-BR' }],
    ['a title in any script', { name: 'Commentaire du réalisateur — 解説 2' }],
  ])('%s is accepted', (_, more) => {
    expect(isAccepted(more)).toBe(true);
  });

  it.each([
    ['a language with a further field of the packager', { language: 'en,skip_encryption=1' }],
    ['a language that is no tag', { language: 'english!' }],
    ['an unknown language', { language: 'und' }],
    ['a name with a quote', { name: 'a",URI="https://attacker.example/' }],
    ['a name with a line break', { name: 'a\n#EXT-X-STREAM-INF' }],
    ['an empty name', { name: '' }],
    ['a name of 100 characters', { name: 'x'.repeat(100) }],
    ['an unknown role', { role: 'admin' }],
  ])('%s is refused', (_, more) => {
    expect(isAccepted(more)).toBe(false);
  });
});

it('a rung keeps its measured quality, where it was measured', () => {
  const rung = { id: 'r360_h264', codec: 'h264', range: 'sdr', width: 640, height: 360, bitrateMax: 730_000 } as const;
  const quality = { vmaf: 95 } as never;
  expect(videoTrackOf(rung)).toEqual(rung);
  expect(videoTrackOf({ ...rung, quality })).toEqual({ ...rung, quality });
});

it('text is stored as WebVTT, and all else as MP4', () => {
  const names = (['video', 'audio', 'text'] as const).map((kind) => encodedFile(kind, 'id'));
  expect(names).toEqual(['made/video/id.mp4', 'made/audio/id.mp4', 'made/text/id.vtt']);
});
