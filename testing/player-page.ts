import type { Frame, Page } from 'playwright-core';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { openPage, type WatchedPage } from './browser.ts';
import { secrets } from './programs.ts';
import { onStage } from './stage/stage.ts';

// What tests do with the player page, over the streams of the stage.

interface TokenOptions {
  readonly lifetimeSec?: number;
  readonly secret?: string;
}

/** A playback token of the service of the stage. */
export function tokenFor(hash: string, { lifetimeSec = 3600, secret = secrets.KEY_TOKEN_SECRET }: TokenOptions = {}) {
  return signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + lifetimeSec }, secret);
}

/** The fragment that plays an encrypted stream. */
export const withToken = (hash: string) => ({ hash, token: tokenFor(hash) });

/** Opens the player page with `fragment` in a profile of its own, until the test ends. */
export async function visitPlayer(
  fragment: Readonly<Record<string, string>>,
  viewport?: { width: number; height: number },
): Promise<WatchedPage> {
  const [{ url }, watched] = await Promise.all([onStage('service'), openPage(viewport)]);
  await watched.page.goto(playerUrl(url, fragment));
  return watched;
}

export const playerUrl = (service: string, fragment: Readonly<Record<string, string>>) =>
  `${service}/player/#${new URLSearchParams(fragment).toString()}`;

/** Opens the panel of the player page with its menus, where it is closed. */
export async function openMenus(page: Page): Promise<void> {
  if (await page.locator('#panel').isHidden()) await page.click('#settings');
}

/** Chooses in a menu (`quality`, `audio`, …) the last option with this text: the label of `Automatic` has a height. */
export async function choose(page: Page, menu: string, text: string): Promise<void> {
  await openMenus(page);
  const option = page.locator(`#${menu} option`, { hasText: text }).last();
  await page.selectOption(`#${menu}`, (await option.getAttribute('value')) ?? '');
}

/** The label that a menu shows. */
export const chosenIn = (page: Page, menu: string) => page.locator(`#${menu} option:checked`).innerText();

/** The message over the video: kind, title and text; '' without a message. */
export async function messageOf(page: Page): Promise<string> {
  const message = page.locator('#message');
  if (await message.isHidden()) return '';
  return `${await message.getAttribute('data-kind')}: ${(await message.innerText()).replaceAll(/\s+/g, ' ')}`;
}

/** The texts of the captions that the page's video shows. */
export const shownCues = (page: Page | Frame) =>
  page.evaluate<string[]>(`[...document.querySelector('video').textTracks].filter(({ mode }) => mode === 'showing')
    .flatMap(({ activeCues }) => [...(activeCues ?? [])].map(({ text }) => text))`);

/** Moves the pointer over a share of the seek bar; the frame of the storyboard that is shown there. */
export async function frameAt(page: Page, share: number): Promise<{ image: string; position: string }> {
  const bar = (await page.locator('#seek').boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
  await page.mouse.move(bar.x + bar.width * share, bar.y + bar.height / 2);
  await page.locator('#scrub-frame').waitFor();
  return await page.evaluate(`(({ backgroundImage, backgroundPosition }) =>
    ({ image: backgroundImage, position: backgroundPosition }))(getComputedStyle(document.querySelector('#scrub-frame')))`);
}

/** How many segments of the audio of a language the page has requested. */
export const audioSegments = async ({ requests }: WatchedPage, language: string) =>
  (await requests()).filter(({ url }) => url.includes(`/audio_${language}_`) && url.endsWith('.m4s')).length;
