import sharp from 'sharp';
import { beforeAll, describe, expect, inject, it } from 'vitest';
import { chromiumPath, keepScreenshot, openPage } from '../../testing/browser.ts';
import {
  dropFile,
  enterConsole,
  faultsOf,
  faultsOfViews,
  fourLooks,
  goTo,
  openIn,
  type Views,
} from '../../testing/console-page.ts';
import { secrets } from '../../testing/programs.ts';
import { onStage } from '../../testing/stage/stage.ts';

// Two walks through the console of the whole service, in Chromium: a newcomer who drops a file, and a customer who has
// a link. Every page says when the server is lost; axe looks at all of them on a desktop and a phone, in light and dark.

const desktop = { width: 1440, height: 900 };
const encrypted = 'captioned-encrypted';
const image = (background: string) =>
  sharp({ create: { width: 640, height: 360, channels: 3, background } })
    .png()
    .toBuffer();
let home: string;
let views: Views;

describe.skipIf(chromiumPath === null || !inject('postgres'))('walks through the console', { timeout: 900_000 }, () => {
  beforeAll(async () => {
    ({ url: home } = (await onStage('streams of captioned')).service);
    const headers = { 'x-api-key': secrets.API_KEY };
    const answer = await fetch(`${home}/api/jobs?hash=${encrypted}&limit=1`, { headers });
    const { jobs } = (await answer.json()) as { jobs: { job_id: string }[] };
    views = {
      home: ['#/', '.day'],
      media: ['#/media', '.tile img[src]'],
      medium: [`#/media/${encrypted}`, 'reelwright-player iframe'],
      jobs: ['#/jobs', '.sizer .row'],
      job: [`#/jobs/${jobs[0]?.job_id}`, '.timeline'],
      submit: ['#/new', '.to-submit'],
      images: ['#/images', '.form'],
      webhooks: ['#/webhooks', '.test'],
      pools: ['#/pools', '.pool'],
      rollouts: ['#/rollouts', '.empty, .rollouts li'],
      'rollout-form': ['#/rollouts/new', '.form'],
      profiles: ['#/profiles', 'tbody tr'],
      profile: ['#/profiles/default', '.outline'],
      'profile-check': ['#/check', '.editor'],
      usage: ['#/usage', '[data-usage]'],
      keys: ['#/keys', '.view h1'],
    };
  });

  it('C31.20: every page says within five seconds that the server is not reached', async () => {
    const { page } = await openPage(desktop);
    await enterConsole(page, { url: `${home}/console/`, key: secrets.API_KEY });
    const bar = page.locator('.unreached');
    for (const [name, [fragment, shown]] of Object.entries(views)) {
      await goTo(page, fragment);
      await page.locator(shown).first().waitFor();
      await page.route('**/*', (route) => route.abort());
      await bar.waitFor({ state: 'visible' });
      await keepScreenshot(page, `walk-unreached-${name}`, 'console');
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await bar.waitFor({ state: 'hidden' });
    }
  });

  it('C31.33: that files may be dropped is said in one line in windows of every width, and never without a mouse', async () => {
    const { page } = await openPage(desktop);
    await enterConsole(page, { url: `${home}/console/`, key: secrets.API_KEY });
    const hint = page.locator('#drop-hint');
    for (const width of [1440, 1241, 1240, 901, 900, 601, 390]) {
      await page.setViewportSize({ width, height: 800 });
      const box = await hint.boundingBox();
      const isWhole = box !== null && box.height < 30 && box.x + box.width < width;
      expect([width, isWhole, await hint.innerText()]).toEqual([width, true, expect.stringMatching(/^Drop files/)]);
      expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    }
    const session = await page.context().newCDPSession(page);
    await session.send('Emulation.setDeviceMetricsOverride', {
      width: 390,
      height: 844,
      deviceScaleFactor: 1,
      mobile: true,
    });
    await session.send('Emulation.setTouchEmulationEnabled', { enabled: true });
    await expect.poll(() => hint.isVisible()).toBe(false);
  });

  it.each(fourLooks)('C31.9: axe finds no fault of any page in %j', async (look) => {
    const name = `${look.size.width}-${look.scheme}`;
    const { page, errors } = await openIn(look, `${home}/console/`);
    expect(await faultsOf(page)).toEqual([]);
    await keepScreenshot(page, `walk-sign-in-${name}`, 'console');
    await enterConsole(page, { url: `${home}/console/`, key: secrets.API_KEY });
    const named = Object.entries(views).map(([view, shown]) => [`walk-${view}`, shown]);
    expect(await faultsOfViews(page, Object.fromEntries(named) as Views, name)).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('C31.27: a newcomer drops two files, follows one to its end, and finds both on the board', async () => {
    const { page, errors } = await openPage(desktop);
    await enterConsole(page, { url: `${home}/console/`, key: secrets.API_KEY });
    await dropFile(page, { name: 'newcomer one.png', type: 'image/png', bytes: await image('#27496d') });
    await dropFile(page, { name: 'newcomer two.png', type: 'image/png', bytes: await image('#7a3b2e') });
    const links = page.locator('.uploads a');
    await expect.poll(() => links.count(), { timeout: 60_000 }).toBe(2);
    await keepScreenshot(page, 'walk-dropped', 'console');
    await links.filter({ hasText: 'newcomer one.png' }).click();
    await expect.poll(() => page.locator('.title-line .badge').innerText(), { timeout: 120_000 }).toBe('completed');
    await page.locator('.shot img[src]').waitFor();
    await goTo(page, '#/media?search=newcomer-');
    await expect.poll(() => page.locator('.tile img[src]').count(), { timeout: 120_000 }).toBe(2);
    await goTo(page, '#/');
    await expect.poll(() => page.locator('.day').innerText()).toMatch(/Completed\s+\d/);
    expect(errors).toEqual([]);
  });

  it('C31.13: a customer opens a link and watches, without an API key and without a fault of the page', async () => {
    const { page } = await openPage(desktop);
    await enterConsole(page, { url: `${home}/console/#/media/${encrypted}`, key: secrets.API_KEY });
    await page.click('text=Make a link');
    const link = await page.locator('.share-link').inputValue();
    for (const look of fourLooks) {
      const other = await openIn(look, link);
      // The browser of the tests lets it begin by itself.
      const time = () => other.page.evaluate<number>('document.querySelector("video").currentTime');
      await expect.poll(time).toBeGreaterThan(0.5);
      expect(await faultsOf(other.page)).toEqual([]);
      await keepScreenshot(other.page, `walk-customer-${look.size.width}-${look.scheme}`, 'console');
      expect((await other.requests()).flatMap(({ headers }) => headers['x-api-key'] ?? [])).toEqual([]);
    }
  });
});
