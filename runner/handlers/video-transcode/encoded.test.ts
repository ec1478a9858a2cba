import { describe, expect, it } from 'vitest';
import { type Encoded, encodedSchema } from './encoded.ts';

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
