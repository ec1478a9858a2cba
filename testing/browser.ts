import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page, type Request } from 'playwright-core';
import sharp from 'sharp';
import { onTestFinished } from 'vitest';
import { onStage } from './stage/stage.ts';

export { chromiumPath } from './stage/chromium.ts';

// The headless Chromium in which all test files of a run open their pages, each with a profile of its own.

/** The parts of the DOM that functions running inside the page use; the project compiles without the DOM's types. */
declare const document: {
  readonly documentElement: { readonly scrollWidth: number; readonly clientWidth: number };
  querySelector(selector: 'video'): Video | null;
};
interface Video {
  currentTime: number;
  loop: boolean;
  readonly paused: boolean;
  readonly seeking: boolean;
  readonly videoHeight: number;
  pause(): void;
  getVideoPlaybackQuality(): { readonly totalVideoFrames: number };
}

/** How long a page may take for what takes a second. Shorter than `expect.poll` waits, whose message names less. */
const hangMs = 50_000;
const screenshots = join(import.meta.dirname, '../test-results');

let connected: Promise<Browser> | undefined;

/** The browser of this run; files that follow one another in a process use one connection. */
async function theBrowser(): Promise<Browser> {
  if (connected !== undefined && (await connected).isConnected()) return await connected;
  connected = onStage('browser').then(({ wsEndpoint }) => chromium.connect(wsEndpoint));
  return await connected;
}

export interface SentRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Record<string, string>;
}

export interface WatchedPage {
  readonly page: Page;
  /** Every request of the page so far, with the headers sent. */
  readonly requests: () => Promise<SentRequest[]>;
  /** Uncaught exceptions of the page's scripts. */
  readonly errors: string[];
  /** The browser's console, such as `error: Refused to connect`: errors and warnings. */
  readonly complaints: string[];
}

export const desktop = { width: 1280, height: 860 };
export const phone = { width: 390, height: 844 };
type Viewport = typeof desktop;

/** A page with a profile of its own until the test ends. */
export async function openPage(viewport: Viewport = desktop): Promise<WatchedPage> {
  const watched = await openLastingPage(viewport);
  onTestFinished(() => watched.page.context().close());
  return watched;
}

/** A page with a profile of its own; its context is closed by who opened it. */
export async function openLastingPage(viewport: Viewport = desktop): Promise<WatchedPage> {
  const context = await (await theBrowser()).newContext({ viewport });
  context.setDefaultTimeout(hangMs);
  const page = await context.newPage();
  const sent: Request[] = [];
  const errors: string[] = [];
  const complaints: string[] = [];
  page.on('request', (request) => sent.push(request));
  page.on('pageerror', (error) => {
    if (!isOfDestroyedShaka(error)) errors.push(error.message);
  });
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(`${message.type()}: ${message.text()}`);
  });
  return { page, errors, complaints, requests: () => Promise.all(sent.map(toSent)) };
}

/**
 * Shaka Player that is destroyed while it recovers from a failed segment goes on for a step and reads fields of its own
 * that `destroy` has set to null. Nothing of the page depends on it any more.
 */
function isOfDestroyedShaka({ message, stack = '' }: Error): boolean {
  const firstFrame = stack.split('\n').find((line) => /^\s*at /.test(line)) ?? '';
  return message.startsWith('Cannot read properties of null') && firstFrame.includes('/vendor/shaka-player.js');
}

async function toSent(request: Request): Promise<SentRequest> {
  return { method: request.method(), url: request.url(), headers: await request.allHeaders() };
}

/** A small copy of a frame. */
export interface ShownFrame {
  /** Mean of all colour values, 0–255. */
  readonly brightness: number;
  /** Mean absolute difference from the brightness: about 0 for one colour. */
  readonly contrast: number;
  readonly pixels: readonly number[];
}

/**
 * The frame that the page's video shows, from a screenshot: Chromium does not draw decrypted (EME) frames onto a
 * canvas.
 */
export async function shownFrame(page: Page): Promise<ShownFrame> {
  const png = await page.locator('video').screenshot();
  const small = sharp(png).resize(64, 36, { fit: 'fill' }).removeAlpha();
  const pixels = [...(await small.raw().toBuffer())];
  const brightness = pixels.reduce((sum, value) => sum + value, 0) / pixels.length;
  const contrast = pixels.reduce((sum, value) => sum + Math.abs(value - brightness), 0) / pixels.length;
  return { brightness, contrast, pixels };
}

/** The state of the page's video, and of the page. */
interface PageState {
  /** Seconds. */
  readonly time: number;
  readonly height: number;
  /** Frames decoded: shown or dropped. */
  readonly frames: number;
  /** By how many pixels the page is wider than its window. */
  readonly overflow: number;
}

export async function stateOf(page: Page): Promise<PageState> {
  return await page.evaluate(() => {
    const video = document.querySelector('video');
    if (video === null) throw new Error('the page has no video');
    const { scrollWidth, clientWidth } = document.documentElement;
    return {
      time: video.currentTime,
      height: video.videoHeight,
      frames: video.getVideoPlaybackQuality().totalVideoFrames,
      overflow: scrollWidth - clientWidth,
    };
  });
}

/** Mean difference of the values of two frames, 0–255. */
export function differenceOf(a: ShownFrame, b: ShownFrame): number {
  return a.pixels.reduce((sum, value, index) => sum + Math.abs(value - (b.pixels[index] ?? 0)), 0) / a.pixels.length;
}

/** Waits until the page's video has played to `seconds`. @throws Error with the page's text when it does not */
export async function waitForTime(page: Page, seconds: number): Promise<void> {
  try {
    await page.waitForFunction((time) => (document.querySelector('video')?.currentTime ?? 0) >= time, seconds);
  } catch (cause) {
    const shown = await page.locator('body').innerText();
    throw new Error(`the video did not reach ${seconds} s; the page shows: ${shown.slice(0, 1000)}`, { cause });
  }
}

/** Makes the page's video begin again at its end: however slow the machine is, it never stops playing. */
export async function loopVideo(page: Page): Promise<void> {
  await page.evaluate(() => {
    const video = document.querySelector('video');
    if (video !== null) video.loop = true;
  });
}

/** Pauses the page's video, which must have begun to play, and shows its frame at `seconds`. */
export async function pauseAt(page: Page, seconds: number): Promise<void> {
  await page.evaluate((time) => {
    const video = document.querySelector('video');
    video?.pause();
    if (video !== null) video.currentTime = time;
  }, seconds);
  await page.waitForFunction(() => document.querySelector('video')?.seeking === false);
}

/** Writes a screenshot of the whole page to `test-results/player/`, or to another folder there. */
export async function keepScreenshot(page: Page, name: string, folder = 'player'): Promise<void> {
  mkdirSync(join(screenshots, folder), { recursive: true });
  await page.screenshot({ path: join(screenshots, folder, `${name}.png`), fullPage: true });
}
