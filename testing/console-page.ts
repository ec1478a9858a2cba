import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import type { Page } from 'playwright-core';

// What tests do with a page of the console, as a person would.

const axePath = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/** What axe finds wrong with a page by WCAG 2.2 AA, and the elements that it means. */
export async function faultsOf(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(axePath, 'utf8'));
  const { violations } = await page.evaluate<{ violations: { id: string; nodes: { html: string }[] }[] }>(
    `axe.run({ runOnly: ${JSON.stringify(tags)} })`,
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

/** What has the focus: the name, else the id, else the text of an element. */
export const focusedIn = (page: Page) =>
  page.evaluate<string>('(({ name, id, textContent }) => name || id || textContent)(document.activeElement)');
