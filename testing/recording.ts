import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { runTool } from './media.ts';

// A recording of a page as an animated WebP, for README.md.

interface Frame {
  readonly atSec: number;
  readonly bytes: Buffer;
}

export interface Recording {
  /** Ends the recording and writes it to `file`, at most `secondsMax` long. */
  save(file: string, secondsMax: number): Promise<void>;
}

/** While nothing changes, as when a test looks at the page, time stands still after this. */
const pauseSecMax = 0.6;
const framesPerSecond = 8;
const widthPx = 880;

/** Records what the page shows, from now on. */
export async function recordPage(page: Page): Promise<Recording> {
  const session = await page.context().newCDPSession(page);
  const frames: Frame[] = [];
  session.on('Page.screencastFrame', ({ data, metadata, sessionId }) => {
    frames.push({ atSec: metadata.timestamp ?? 0, bytes: Buffer.from(data, 'base64') });
    void session.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
  });
  await session.send('Page.startScreencast', { format: 'jpeg', quality: 85, everyNthFrame: 3 });
  return {
    save: async (file, secondsMax) => {
      await session.send('Page.stopScreencast');
      await writeAnimation(file, frames, secondsMax);
    },
  };
}

async function writeAnimation(file: string, frames: readonly Frame[], secondsMax: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-recording-'));
  try {
    const shown = frames.map(({ atSec }, index) =>
      Math.min(pauseSecMax, Math.max(0.01, (frames[index + 1]?.atSec ?? atSec + pauseSecMax) - atSec)),
    );
    const total = shown.reduce((sum, seconds) => sum + seconds, 0);
    const speed = Math.max(1, total / secondsMax);
    const lines: string[] = [];
    for (const [index, { bytes }] of frames.entries()) {
      await writeFile(join(folder, `${index}.jpg`), bytes);
      lines.push(`file '${index}.jpg'`, `duration ${(shown[index] ?? 0) / speed}`);
    }
    await writeFile(join(folder, 'list.txt'), lines.join('\n'));
    const filter = `fps=${framesPerSecond},scale=${widthPx}:-2:flags=lanczos`;
    const input = ['-v', 'error', '-y', '-f', 'concat', '-i', 'list.txt', '-vf', filter];
    const output = ['-c:v', 'libwebp_anim', '-quality', '50', '-compression_level', '6', '-loop', '0', file];
    await runTool('ffmpeg', [...input, ...output], folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
