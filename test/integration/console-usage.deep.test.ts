import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, desktop, phone } from '../../testing/browser.ts';
import { enterConsole, faultsOfViews, goTo, openIn } from '../../testing/console-page.ts';
import { type ApiUnderTest, apiKey, startApi } from '../contract/api-under-test.ts';

// The console's page of usage in a real Chromium.

let api: ApiUnderTest;

/** Three days: `acme` made a stream of an hour on each, the pods ran one, two and three hours. */
const insertUsage = `
  insert into usage_daily
  select (now() at time zone 'UTC')::date - n, key, 'video:transcode', '', '', 0, 10 * (n + 1), 1e9, 36e5, 2e9, 36e5,
    1e4, 36e5, 1e4, 36e5 * (n + 1), 9e5, 2e9
  from generate_series(0, 2) as n cross join unnest(array['00000001', '']) as key`;

describe.skipIf(chromiumPath === null)('the usage of the console', () => {
  beforeAll(async () => {
    api = await startApi({ console: 'on' });
    await api.d.database.pool.query(insertUsage);
  });
  afterAll(() => api?.close());

  it('C37.18: the page of usage has a bar for each day, by what is chosen, and a table by API key', async () => {
    const { page, errors, complaints } = await openIn({ size: desktop, scheme: 'light' }, `${api.url}/console/`);
    await enterConsole(page, { url: `${api.url}/console/`, key: apiKey });
    await goTo(page, '#/usage');
    const days = page.locator('[data-usage] tbody tr');
    await days.first().waitFor();
    expect(await days.count()).toBe(30);
    const value = (row: number) => days.nth(row).locator('td').nth(1).innerText();
    expect([await value(0), await value(1), await value(2), await value(3)]).toEqual(['2 h', '4 h', '6 h', '0 s']);
    const share = (row: number) => days.nth(row).locator('.bits').getAttribute('style');
    expect(await share(2)).toContain('100%');
    await page.selectOption('[name=measure]', 'jobs');
    await expect.poll(() => value(0)).toBe('20');
    await page.selectOption('[name=days]', '7');
    await expect.poll(() => days.count()).toBe(7);
    expect(await page.locator('.usage-totals').innerText()).toContain('1 h 30 min (13 %)');
    expect(await page.locator('[aria-label="Usage by API key"] tbody').innerText()).toContain('00000001');
    expect([errors, complaints]).toEqual([[], []]);
  });

  it.each([
    ['desktop-light', { size: desktop, scheme: 'light' }],
    ['phone-dark', { size: phone, scheme: 'dark' }],
  ] as const)('C31.9: the page of usage has no fault of accessibility and fits its window, %s', async (name, look) => {
    const { page } = await openIn(look, `${api.url}/console/`);
    await enterConsole(page, { url: `${api.url}/console/`, key: apiKey });
    expect(await faultsOfViews(page, { usage: ['#/usage', '[data-usage] tbody tr'] }, name)).toEqual([]);
  });
});
