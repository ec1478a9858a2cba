import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { checkout } from './checkout.ts';

const folder = join(checkout, '.tools/image-ffmpeg/bin');
const programs = { FFMPEG_PATH: join(folder, 'ffmpeg'), FFPROBE_PATH: join(folder, 'ffprobe') };

/**
 * Runs the tests of a file with the ffmpeg of the runner image, which `scripts/image-ffmpeg` unpacks; where it is
 * missing, with the machine's, and says so. Files share a process, so the variables are restored at the end.
 */
export function useImageFfmpeg(): void {
  const before = Object.keys(programs).map((name) => [name, process.env[name]] as const);
  beforeAll(() => {
    if (existsSync(programs.FFMPEG_PATH)) Object.assign(process.env, programs);
    else process.stderr.write("the runner image's ffmpeg is missing (scripts/image-ffmpeg): the machine's is tested\n");
  });
  afterAll(() => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  });
}
