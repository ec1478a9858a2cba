import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, desktop, keepScreenshot, openPage } from '../../testing/browser.ts';
import { originsOf } from '../../testing/console-page.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// `/docs`, the page of the API, in a real Chromium.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

async function visit(path: string) {
  const watched = await openPage(desktop);
  await watched.page.goto(`${api.url}${path}`);
  return watched;
}

describe.skipIf(chromiumPath === null)('the page of the API in a real Chromium', () => {
  it('C28.3: /docs lists every operation and the webhook, without a complaint or a request to another host', async () => {
    const watched = await visit('/docs');
    const { page, errors, complaints } = watched;
    const { paths } = (await api.raw('/openapi.json')).json;
    const operations = Object.values(paths as object).flatMap((item: object) => Object.keys(item));
    await expect.poll(() => page.locator('.opblock').count()).toBe(operations.length + 1);
    expect([errors, complaints, await originsOf(watched)]).toEqual([[], [], [api.url]]);
    await keepScreenshot(page, 'docs');
  });

  it('C28.3: the address of a problem shows its row of /docs, where an example request can be sent', async () => {
    const { page } = await visit('/docs#problem-rate_limited');
    await expect
      .poll(async () => (await page.locator('#problem-rate_limited').boundingBox())?.y ?? -1)
      .toSatisfy((top: number) => top > -1 && top < desktop.height);
    await page.click('#operations-System-getLiveness');
    await page.click('.try-out__btn');
    await page.click('.execute');
    const status = page.locator('.live-responses-table tbody .response-col_status').first();
    await expect.poll(() => status.innerText()).toBe('200');
    expect(await page.locator('.curl').first().innerText()).toContain('/healthz');
  });
});
