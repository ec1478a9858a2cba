import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chromiumPath, openPage } from '../../testing/browser.ts';
import { faultsOf } from '../../testing/console-page.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// The pages of the server for people: `/` and `/docs`, also in a real Chromium. What `/docs` shows there:
// docs-page.deep.test.ts.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

describe('`/`', () => {
  it('C28.4: the home page links to pages that this server has', async () => {
    const home = await api.raw('/');
    expect([home.status, home.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    const links = [...home.text.matchAll(/<a href="([^"]+)"/g)].map(([, link = '']) => `/${link}`);
    expect(links).toEqual(['/player/', '/docs', '/openapi.json', '/readyz', '/metrics']);
    for (const link of links) expect((await api.raw(link)).status, link).toBe(200);
  });

  it.each([
    ['api' as const, ['docs', 'openapi.json', 'readyz', 'metrics']],
    ['delivery' as const, ['player/', 'readyz', 'metrics']],
  ])('C28.4: the home page of a server with the surface %s alone links to its own pages', async (surface, expected) => {
    const server = await startApi({ surfaces: new Set([surface]) });
    try {
      const { text } = await server.raw('/');
      expect([...text.matchAll(/<a href="([^"]+)"/g)].map(([, link]) => link)).toEqual(expected);
    } finally {
      await server.close();
    }
  });

  it('C28.4: the icon of every page is at /favicon.ico', async () => {
    const icon = await api.raw('/favicon.ico');
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
  });
});

describe('`/docs`', () => {
  it('C28.3: the /docs page loads nothing from other hosts and has an anchor for each problem', async () => {
    const { text, headers, status } = await api.raw('/docs');
    expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    expect(headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'");
    const addresses = [...text.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, address = '']) => address);
    expect(addresses.length).toBeGreaterThan(3);
    for (const address of addresses) expect((await api.raw(`/${address}`)).status, address).toBe(200);
    const problem = await api.call('/nowhere');
    expect(text).toContain(`id="${String(problem.json.type).replace('/docs#', '')}"`);
  });
});

async function visit(path: string) {
  const watched = await openPage();
  await watched.page.goto(`${api.url}${path}`);
  return watched;
}

describe.skipIf(chromiumPath === null)('the pages in a real Chromium', () => {
  it.each(['dark' as const, 'light' as const])(
    'C28.4: axe finds no fault of the home page in %s colours',
    async (scheme) => {
      const { page } = await visit('/');
      await page.emulateMedia({ colorScheme: scheme });
      expect(await faultsOf(page)).toEqual([]);
    },
  );

  it('the player page allows no script of its own text, and none of other hosts', async () => {
    const { headers, text } = await api.raw('/player/');
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
    expect(policy).toContain("worker-src 'self' blob:; base-uri 'none'; form-action 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    expect(text).not.toMatch(/<script(?![^>]* src=)|\son\w+=|\sstyle=|javascript:/);
    const { page, complaints } = await visit('/player/');
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('script'), { text: 'window.isRun = 1' }))`,
    );
    expect(await page.evaluate('window.isRun')).toBeUndefined();
    expect(complaints).toEqual([expect.stringContaining('Content Security Policy')]);
  });
});
