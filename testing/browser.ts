import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page, type Request } from 'playwright-core';
import sharp from 'sharp';
import { findProgram } from './servers.ts';

// A headless Chromium for tests of the pages.

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

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const screenshots = join(import.meta.dirname, '../test-results');

/** The browser of this machine; null without one: suites then use `describe.skipIf(chromiumPath === null)`. */
export const chromiumPath = names.map((name) => findProgram(name)).find((path) => path !== null) ?? null;

/** Starts the browser with an empty profile and without requests of its own. */
export async function openBrowser(): Promise<Browser> {
  if (chromiumPath === null) throw new Error('no Chromium on this machine');
  return await chromium.launch({
    executablePath: chromiumPath,
    args: [
      // The sandbox does not start as root.
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-sync',
      '--disable-background-networking',
      '--disable-component-update',
      '--autoplay-policy=no-user-gesture-required',
    ],
  });
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
}

/** A page with its own profile; close its context after use. */
export async function openPage(browser: Browser, viewport = { width: 1280, height: 900 }): Promise<WatchedPage> {
  const context = await browser.newContext({ viewport });
  const page = await context.newPage();
  const sent: Request[] = [];
  const errors: string[] = [];
  page.on('request', (request) => sent.push(request));
  page.on('pageerror', (error) => {
    if (!isOfDestroyedShaka(error)) errors.push(error.message);
  });
  return { page, errors, requests: () => Promise.all(sent.map(toSent)) };
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

/** Of the page's video, and of the page. */
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

/** Waits until the page's video has played to `seconds`. @throws Error with the page's message when it does not */
export async function waitForTime(page: Page, seconds: number): Promise<void> {
  try {
    await page.waitForFunction((time) => (document.querySelector('video')?.currentTime ?? 0) >= time, seconds, {
      timeout: 60_000,
    });
  } catch (cause) {
    throw new Error(`the video did not reach ${seconds} s; the page shows: ${await messageOf(page)}`, { cause });
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

/** Opens the panel of the player page with its menus, where it is closed. */
export async function openMenus(page: Page): Promise<void> {
  if (await page.locator('#panel').isHidden()) await page.click('#settings');
}

/** The message over the video: kind, title and text; '' without a message. */
export async function messageOf(page: Page): Promise<string> {
  const message = page.locator('#message');
  if (await message.isHidden()) return '';
  return `${await message.getAttribute('data-kind')}: ${(await message.innerText()).replaceAll(/\s+/g, ' ')}`;
}

/** Writes a screenshot of the whole page to `test-results/player/`, or to another folder there. */
export async function keepScreenshot(page: Page, name: string, folder = 'player'): Promise<void> {
  mkdirSync(join(screenshots, folder), { recursive: true });
  await page.screenshot({ path: join(screenshots, folder, `${name}.png`), fullPage: true });
}
