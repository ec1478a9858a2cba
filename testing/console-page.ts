import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';
import { keepScreenshot, openPage, phone, type WatchedPage } from './browser.ts';

// What tests do with a page of the console, as a person would.

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** The faults that axe finds in a page by WCAG 2.2 AA, and the elements that it means; frames are pages themselves. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(axePath, 'utf8'));
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run({ runOnly: ${JSON.stringify(tags)}, iframes: false })`,
  );
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`);
}

/** Drops a file as a person does who drags it from a folder onto the page. */
export function dropFile(page: Page, file: { readonly name: string; readonly type: string; readonly bytes: Buffer }) {
  return page.evaluate(`{
    const bytes = Uint8Array.from(atob('${file.bytes.toString('base64')}'), (character) => character.charCodeAt(0));
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([bytes], '${file.name}', { type: '${file.type}' }));
    for (const type of ['dragenter', 'dragover', 'drop'])
      window.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }`);
}

/** Opens a view as someone who is signed in. */
export async function enterConsole(page: Page, { url, key }: { readonly url: string; readonly key: string }) {
  await page.goto(url);
  await page.fill('#key', key);
  await page.click('#sign-in-button');
  await page.locator('.view').waitFor();
}

/** Leads a page that is signed in to another view. */
export const goTo = (page: Page, fragment: string) => page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);

/** The element that has the focus: its name, else its id, else its text. */
export const focusedIn = (page: Page) =>
  page.evaluate<string>('(({ name, id, textContent }) => name || id || textContent)(document.activeElement)');

interface Look {
  readonly size: { readonly width: number; readonly height: number };
  readonly scheme: 'light' | 'dark';
}

/** A desktop and a phone, each in light and dark. */
export const fourLooks: readonly Look[] = [{ width: 1440, height: 900 }, phone].flatMap((size) =>
  (['light', 'dark'] as const).map((scheme) => ({ size, scheme })),
);

/** Opens an address in colours of a scheme, until the test ends. */
export async function openIn({ size, scheme }: Look, url: string): Promise<WatchedPage> {
  const watched = await openPage(size);
  await watched.page.emulateMedia({ colorScheme: scheme });
  await watched.page.goto(url);
  return watched;
}

/** Views by name: the fragment of the address, and the selector of what is shown when it is whole. */
export type Views = Readonly<Record<string, readonly [fragment: string, shown: string]>>;

/** The faults that axe finds in each view of a page that is signed in, and views that are wider than the window. */
export async function faultsOfViews(page: Page, views: Views, look: string): Promise<string[]> {
  const faults: string[] = [];
  for (const [name, [fragment, shown]] of Object.entries(views)) {
    await goTo(page, fragment);
    await page.locator(shown).first().waitFor();
    await page.locator('[aria-busy="true"]').first().waitFor({ state: 'detached' });
    await keepScreenshot(page, `${name}-${look}`, 'console');
    const overflow = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    if (overflow !== 0) faults.push(`${name}: ${overflow} pixels too wide`);
    faults.push(...(await faultsOf(page)).map((fault) => `${name}: ${fault}`));
  }
  return faults;
}

/** The origins of all requests of a page. */
export async function originsOf({ requests }: WatchedPage): Promise<string[]> {
  const urls = (await requests()).map(({ url }) => new URL(url)).filter(({ protocol }) => protocol !== 'data:');
  return [...new Set(urls.map(({ origin }) => origin))];
}
