import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CDPSession, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, openPage } from '../../testing/browser.ts';
import { enterConsole, faultsOf } from '../../testing/console-page.ts';
import { makeKey, type MadeKey } from '../../testing/named-keys.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// The session of the console in a real Chromium (docs/reference/contract.md, "Keys").

let api: ApiUnderTest;
let admin: MadeKey;
beforeAll(async () => {
  api = await startApi({ console: 'on' });
  admin = await makeKey(api.d.database, { name: 'operator', rights: ['admin'] });
});
afterAll(() => api?.close());

/** Whether a text is anywhere in the memory of the page's scripts, after a collection of what is left over. */
async function isInHeap(cdp: CDPSession, text: string): Promise<boolean> {
  let snapshot = '';
  const add = ({ chunk }: { readonly chunk: string }) => void (snapshot += chunk);
  cdp.on('HeapProfiler.addHeapSnapshotChunk', add);
  await cdp.send('HeapProfiler.collectGarbage');
  await cdp.send('HeapProfiler.takeHeapSnapshot', { reportProgress: false });
  cdp.off('HeapProfiler.addHeapSnapshotChunk', add);
  return snapshot.includes(text);
}

/** Signs in as a keyboard does: a text that a test hands to a script of the page would be in the page's memory. */
async function typeKey(page: Page, key: string): Promise<void> {
  await page.focus('#key');
  await page.keyboard.insertText(key);
  await page.keyboard.press('Enter');
  await page.locator('.view').waitFor();
}

const console = () => `${api.url.replace('127.0.0.1', 'localhost')}/console/#/jobs`;
const enter = (page: Page) => enterConsole(page, { url: console(), key: admin.text });

describe.skipIf(chromiumPath === null)('the session of the console', () => {
  it('C31.3, C35.22: after the exchange neither the key nor the secret is in the memory of the page, and a reload stays signed in', async () => {
    const { page } = await openPage();
    const cdp = await page.context().newCDPSession(page);
    await page.goto(console());
    await typeKey(page, admin.text);
    expect(await isInHeap(cdp, admin.text)).toBe(false);
    const [cookie, ...others] = await page.context().cookies();
    expect(others).toEqual([]);
    expect(cookie).toMatchObject({ name: 'reelwright_session', path: '/api', httpOnly: true, sameSite: 'Strict' });
    expect(await isInHeap(cdp, cookie?.value ?? '')).toBe(false);
    expect(await page.evaluate('document.cookie')).toBe('');
    await page.reload();
    await page.locator('.view').waitFor();
    await page.evaluate(`window.held = ${JSON.stringify(admin.text)}`);
    // What a page does hold is found.
    expect(await isInHeap(cdp, admin.text)).toBe(true);
  });

  it('C35.22: signing out ends the session on the server', async () => {
    const { page } = await openPage();
    await enter(page);
    const [cookie] = await page.context().cookies();
    await page.click('#sign-out');
    await page.locator('#sign-in').waitFor();
    await expect.poll(() => page.context().cookies()).toEqual([]);
    const headers = { cookie: `reelwright_session=${cookie?.value}`, 'x-reelwright-session': '1' };
    expect((await api.raw('/api/jobs', { headers })).status).toBe(401);
    await page.reload();
    await page.locator('#sign-in').waitFor();
  });

  it('C35.23: administrators see the named keys and revoke one; who is none does not see the page', async () => {
    const bounds = { hashPrefix: 'acme-', sourcePrefix: 'acme/', profiles: ['mobile'], priorityMax: 7 };
    await api.d.database.pool.query(`delete from api_keys where name in ('acme', 'reader')`);
    await makeKey(api.d.database, { name: 'acme', rights: ['read', 'submit'], ...bounds });
    const { page, complaints } = await openPage();
    await enter(page);
    await page.click('#tabs [data-tab=keys]');
    const row = page.locator('tbody tr', { hasText: 'acme' });
    await expect
      .poll(() => row.innerText())
      .toMatch(/read, submit\s+hashes acme-…; sources acme\/…; profiles mobile; priority up to 7\s+never\s+never/);
    expect(await faultsOf(page)).toEqual([]);
    await row.locator('text=Revoke').click();
    await page.click('dialog >> text=Revoke the key');
    await expect.poll(() => row.count()).toBe(0);
    expect((await api.call('/api/keys')).text).not.toContain('acme');
    expect(complaints).toEqual([]);

    const other = await openPage();
    const { text } = await makeKey(api.d.database, { name: 'reader', rights: ['read'] });
    await enterConsole(other.page, { url: console(), key: text });
    expect(await other.page.locator('#tabs [data-tab=keys]').isVisible()).toBe(false);
  });

  it('C35.22: a page whose key is revoked says that the session has ended, whether it was open or is opened again', async () => {
    const { page } = await openPage();
    for (const away of [false, true]) {
      await api.d.database.pool.query(`delete from api_keys where name = 'short'`);
      const { id, text } = await makeKey(api.d.database, { name: 'short', rights: ['read'] });
      await enterConsole(page, { url: console(), key: text });
      if (away) await page.goto('about:blank');
      await api.call(`/api/keys/${id}`, { method: 'DELETE' });
      if (away) await page.goto(console());
      await expect.poll(() => page.locator('#sign-in-fault').innerText()).toBe('The session has ended.');
    }
  });

  it('C35.22: a form and a script of another page, even of one on the same host, change nothing', async () => {
    const { json } = await api.submit({ type: 'image:thumbnail', hash: 'kept', source: 'a.jpg' });
    const cancel = `/api/jobs/${json.job_id}/cancel`;
    // Sites know no ports: this page is of the same site, so that its requests have the cookie.
    const evil = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>evil'));
    await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve));
    try {
      const { page } = await openPage();
      await enter(page);
      const target = `${api.url.replace('127.0.0.1', 'localhost')}${cancel}`;
      for (const host of ['localhost', '127.0.0.1']) {
        await page.goto(`http://${host}:${(evil.address() as AddressInfo).port}/`);
        const blocked = `fetch('${target}', { method: 'POST', credentials: 'include', headers: { 'x-reelwright-session': '1' } })`;
        expect(await page.evaluate(`${blocked}.then(() => 'sent', () => 'blocked')`)).toBe('blocked');
        const answered = page.waitForResponse(target);
        await page.evaluate(`{
          document.body.innerHTML = '<form method="post" action="${target}"></form>';
          document.forms[0].submit();
        }`);
        const { headers, status } = await answered.then(async (answer) => ({
          headers: await answer.request().allHeaders(),
          status: answer.status(),
        }));
        await page.waitForURL(target);
        const isSameSite = host === 'localhost';
        expect([host, status, headers['cookie'] !== undefined]).toEqual([host, isSameSite ? 403 : 401, isSameSite]);
      }
      expect((await api.call(`/api/jobs/${json.job_id}`)).json.status).toBe('queued');
    } finally {
      evil.close();
    }
  });
});
