import { describe, expect, it } from 'vitest';
import { canMapTones, filtersInputs, missingAbilities, parseAbilities, refuseMissingAbilities } from './abilities.ts';

const filters = `Filters:
  T.. = Timeline support
  | = Source or sink filter
 ... aformat           A->A       Convert the input audio to one of the specified formats.
 TSC scale             V->V       Scale the input video size and/or convert the image format.
`;
const encoders = ` V....D libx264              libx264 H.264 / AVC / MPEG-4 AVC / MPEG-4 part 10 (codec h264)
 A....D aac                  AAC (Advanced Audio Coding)
`;

describe('what an ffmpeg can do', () => {
  const abilities = parseAbilities({ filters, encoders });

  it('the abilities of an ffmpeg are read from its lists', () => {
    expect([...abilities.filters]).toEqual(expect.arrayContaining(['aformat', 'scale']));
    expect([...abilities.encoders]).toEqual(expect.arrayContaining(['libx264', 'aac']));
  });

  it('missing abilities are named, tone mapping only in the project’s own image', () => {
    const lines = missingAbilities(abilities, { isOwnImage: false });
    expect(lines).toEqual(expect.arrayContaining(['ffmpeg has no filter bwdif', 'ffmpeg has no encoder libwebp_anim']));
    expect(lines).not.toContain('ffmpeg has no filter scale');
    expect(missingAbilities(abilities, { isOwnImage: true })).toContain('ffmpeg has no filter zscale');
    expect(lines).not.toContain('ffmpeg has no filter zscale');
    expect(canMapTones(abilities)).toBe(false);
  });

  it('an ffmpeg that lacks something is refused before the work begins', () => {
    expect(() => refuseMissingAbilities(abilities)).toThrow(/^This runner cannot work: ffmpeg has no filter aeval, /);
  });

  it.each([
    ['libavcodec     59. 37.100 / 59. 37.100', false],
    ['libavcodec     61.  3.100 / 61.  3.100', false],
    ['libavcodec     61. 19.101 / 61. 19.101', true],
    ['libavcodec     62.  1.100 / 62.  1.100', true],
    ['', false],
  ])('an ffmpeg with %j filters the packets of inputs: %s', (line, expected) => {
    expect(filtersInputs(`ffmpeg version\n${line}\n`)).toBe(expected);
  });
});
