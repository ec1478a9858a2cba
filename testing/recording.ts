import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { runTool } from './media.ts';

// A recording of a page as an animated WebP, in which long waits are shortened.

/** A part of a recording: what is longer than `secMax` is shown faster. */
interface Section {
  readonly from: number;
  readonly secMax: number;
}

interface Frame {
  /** Seconds. */
  readonly at: number;
  readonly jpeg: Buffer;
}

export interface Recording {
  /** Begins a part, which takes at most `secMax` in the recording. */
  section(secMax: number): void;
  /** Moves a pointer there, which a recording does not show otherwise, and clicks. */
  click(selector: string): Promise<void>;
  /** Ends the recording and writes it. @returns its length in seconds */
  write(path: string): Promise<number>;
}

const framesPerSec = 5;
const now = () => performance.now() / 1000;

/** A round pointer, which outlives changes of the view but not a new document. */
const pointer = (x: number, y: number) => `{
  let dot = document.querySelector('#recording-pointer');
  if (dot === null) {
    dot = document.createElement('div');
    dot.id = 'recording-pointer';
    Object.assign(dot.style, { position: 'fixed', zIndex: 99, width: '22px', height: '22px', borderRadius: '50%',
      background: 'rgb(240 120 40 / 55%)', border: '2px solid rgb(200 70 0)', pointerEvents: 'none',
      transition: 'left .35s, top .35s', transform: 'translate(-50%, -50%)', left: '50%', top: '50%' });
    document.body.append(dot);
  }
  dot.getBoundingClientRect();
  Object.assign(dot.style, { left: '${x}px', top: '${y}px' });
}`;

/** Records a page from now on. */
export async function startRecording(page: Page): Promise<Recording> {
  const frames: Frame[] = [];
  const sections: Section[] = [];
  const session = await page.context().newCDPSession(page);
  session.on('Page.screencastFrame', ({ data, sessionId }) => {
    frames.push({ at: now(), jpeg: Buffer.from(data, 'base64') });
    void session.send('Page.screencastFrameAck', { sessionId }).catch(() => undefined);
  });
  await session.send('Page.startScreencast', { format: 'jpeg', quality: 90, everyNthFrame: 1 });
  return {
    section: (secMax) => void sections.push({ from: now(), secMax }),
    click: async (selector) => {
      const box = await page.locator(selector).first().boundingBox();
      if (box === null) throw new Error(`${selector} is not shown`);
      await page.evaluate(pointer(box.x + box.width / 2, box.y + box.height / 2));
      await page.waitForTimeout(500);
      await page.locator(selector).first().click();
    },
    write: async (path) => {
      const end = now();
      await session.send('Page.stopScreencast');
      const shown = sections.flatMap(({ from, secMax }, index) =>
        timesOf({ from, to: sections[index + 1]?.from ?? end, secMax }),
      );
      await writeWebp(
        shown.map((at) => frameAt(frames, at)),
        path,
      );
      return shown.length / framesPerSec;
    },
  };
}

/** The times, by the clock of the recording, of the frames that a part is shown by. */
function timesOf({ from, to, secMax }: { from: number; to: number; secMax: number }): number[] {
  const count = Math.round(Math.min(secMax, to - from) * framesPerSec);
  return Array.from({ length: count }, (_, index) => from + ((to - from) * index) / count);
}

/** Frames are sent when something changes: the last one before a time is what was shown then. */
function frameAt(frames: readonly Frame[], at: number): Buffer {
  const found = frames.findLast((frame) => frame.at <= at) ?? frames[0];
  if (found === undefined) throw new Error('the browser sent no frame');
  return found.jpeg;
}

async function writeWebp(frames: readonly Buffer[], path: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-recording-'));
  try {
    for (const [index, jpeg] of frames.entries()) await writeFile(join(folder, `${index}.jpg`), jpeg);
    const input = ['-v', 'error', '-y', '-framerate', String(framesPerSec), '-i', join(folder, '%d.jpg')];
    const output = ['-vf', 'scale=960:-2:flags=lanczos', '-c:v', 'libwebp_anim', '-quality', '55', '-loop', '0'];
    await runTool('ffmpeg', [...input, ...output, '-compression_level', '6', path]);
  } finally {
    await rm(folder, { recursive: true });
  }
}
