import { createHmac } from 'node:crypto';
import { afterEach, expect, it, vi } from 'vitest';
import { thumbSrcset, verifyWebhook } from './server.ts';

// Against the service itself: test/contract/sdk.test.ts.

afterEach(() => {
  vi.restoreAllMocks();
});

const secret = 'a secret of the tests';
const body = '{"type":"video:cover"}';

/** The headers of a webhook that was signed so many seconds from now. */
function headersOf(inSec = 0) {
  const time = String(Math.floor(Date.now() / 1000) + inSec);
  const signature = createHmac('sha256', secret).update(`e.${time}.${body}`).digest('base64');
  return { 'webhook-id': 'e', 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` };
}

it.each([
  [-290, 300, true],
  [-310, 300, false],
  [290, 300, true],
  [310, 300, false],
  [-50, 30, false],
  [-50, 60, true],
])('a webhook that was signed %i s from now is genuine within %i s: %s', async (inSec, toleranceSec, isGenuine) => {
  const verdict = verifyWebhook({ headers: headersOf(inSec), body, secret, toleranceSec });
  await (isGenuine
    ? expect(verdict).resolves.toEqual({ type: 'video:cover' })
    : expect(verdict).rejects.toThrow('clock'));
});

it.each([
  ['another body', { body: `${body} ` }],
  ['another id', { headers: { ...headersOf(), 'webhook-id': 'f' } }],
  ['another secret', { secret: 'another' }],
  ['no signature', { headers: { ...headersOf(), 'webhook-signature': '' } }],
  [
    'a signature with more behind it',
    { headers: { ...headersOf(), 'webhook-signature': `${headersOf()['webhook-signature']}=` } },
  ],
  ['a signature that is cut', { headers: { ...headersOf(), 'webhook-signature': 'v1,' } }],
])('a webhook with %s is refused', async (_, changed) => {
  const received = { headers: headersOf(), body, secret, ...changed };
  await expect(verifyWebhook(received)).rejects.toMatchObject({ code: 'invalid_signature' });
});

it('one of several signatures is enough, as while the secret changes', async () => {
  const headers = headersOf();
  headers['webhook-signature'] = `v1,AAAA ${headers['webhook-signature']}`;
  await expect(verifyWebhook({ headers, body, secret })).resolves.toEqual({ type: 'video:cover' });
});

it('a signature is compared to its end, wherever it differs', async () => {
  const genuine = headersOf()['webhook-signature'];
  const looksAt = async (given: string) => {
    const looks = vi.spyOn(String.prototype, 'charCodeAt');
    await verifyWebhook({ headers: { ...headersOf(), 'webhook-signature': given }, body, secret }).catch(() => null);
    const { length } = looks.mock.calls;
    looks.mockRestore();
    return length;
  };
  const [early, late] = [await looksAt(genuine.replace('v', 'w')), await looksAt(`${genuine.slice(0, -1)}_`)];
  expect([early === late, early >= 2 * genuine.length]).toEqual([true, true]);
});

// The same as in clients/python/tests/test_values.py.
it('a srcset has an address for each width with its height, or for each density', async () => {
  const [thumbSecret, key] = ['a secret of at least sixteen bytes', 'images/ab/p/0123456789abcdef/t.webp'];
  const encoded = 'aW1hZ2VzL2FiL3AvMDEyMzQ1Njc4OWFiY2RlZi90LndlYnA';
  const shape = { w: 300, h: 201, fit: 'cover', gravity: 'attention' } as const;
  expect(await thumbSrcset(key, shape, { thumbSecret, baseUrl: 'https://m.test/', widths: [150, 450] })).toBe(
    [
      `https://m.test/thumb/_gg3ydM5_fyT9HrqwwDSvF-EQK3oL03vXeSwTFoFFkA/${encoded}?fit=cover&gravity=attention&h=101&w=150 150w`,
      `https://m.test/thumb/JuTQnWz99MMoSOzN3vF6fS7P_1gmvKQf0lp9DSKxksE/${encoded}?fit=cover&gravity=attention&h=302&w=450 450w`,
    ].join(', '),
  );
  expect(await thumbSrcset(key, { w: 300 }, { thumbSecret, densities: [1, 1.5] })).toBe(
    [
      `/thumb/roFKBIDhHYdEzSc8thioMHb82EfGWJF_hGua_CgH8n0/${encoded}?dpr=1&w=300 1x`,
      `/thumb/vwNwZBMbb1Y_J6gyLHx8aPVz4aNOV5B1TDzG2xKTfcg/${encoded}?dpr=1.5&w=300 1.5x`,
    ].join(', '),
  );
});
