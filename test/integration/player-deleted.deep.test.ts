import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, inject, it, onTestFinished } from 'vitest';
import { chromiumPath, openPage, stateOf, waitForTime } from '../../testing/browser.ts';
import { until } from '../../testing/controller-rig.ts';
import { type Fleet, openFleet } from '../../testing/fleet.ts';
import { sample } from '../../testing/media.ts';
import { messageOf, playerUrl, tokenFor } from '../../testing/player-page.ts';
import { secrets } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';

// An encrypted stream that is deleted while a viewer is in the middle of it, on two servers and a worker.

let clip: string;
const isPossible = chromiumPath !== null && inject('postgres') !== null && inject('redis') !== null;

/** The function of docs/guides/api.md that verifies a receipt. */
async function receiptHolds(receipt: object): Promise<boolean> {
  const page = await readFile(join(import.meta.dirname, '../../docs/guides/api.md'), 'utf8');
  const [, code = ''] = /```python\n([^`]*def receipt_holds[^`]*)```/.exec(page) ?? [];
  expect(code.trim().split('\n').length).toBeLessThanOrEqual(20);
  const call = 'import sys\nprint(receipt_holds(json.loads(sys.argv[1]), sys.argv[2]))';
  const args = ['-c', `${code}\n${call}`, JSON.stringify(receipt), secrets.WEBHOOK_SECRET];
  const { stdout } = await promisify(execFile)(findProgram('python3') ?? 'python3', args);
  return stdout.trim() === 'True';
}

async function filesOf(dir: string): Promise<string[]> {
  const found = await readdir(dir, { recursive: true, withFileTypes: true });
  return found.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The tables that have `text` in any of their columns. */
async function tablesWith({ database }: Fleet, text: string): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public'`,
  );
  const found: string[] = [];
  for (const { name } of rows) {
    const query = `select from ${name} where strpos(${name}::text, $1) > 0 limit 1`;
    if ((await database.pool.query(query, [text])).rowCount !== 0) found.push(name);
  }
  return found;
}

async function encryptedStream() {
  const fleet = await openFleet({ onTestFinished });
  await fleet.addSource('clip.mp4', clip);
  const profiles = { profiles: { default: { ladder: [{ short_side: 180, bitrate: 300_000 }] } } };
  const env = { MEDIA_PROFILES: JSON.stringify(profiles) };
  const servers = [await fleet.start('server', env), await fleet.start('server', env)] as const;
  await fleet.start('worker', env);
  const id = await fleet.submit('video:transcode', 'clip.mp4', { options: { encrypt: true } });
  expect(await fleet.finished(id)).toMatchObject({ status: 'completed' });
  const { hash } = (await fleet.find(id)) as { hash: string };
  return { fleet, servers, hash, token: tokenFor(hash) };
}

describe.skipIf(!isPossible)('a stream that is deleted while a real Chromium plays it', () => {
  beforeAll(async () => {
    const inputs = '-f lavfi -i testsrc2=s=320x180:r=10:d=90 -f lavfi -i sine=d=90';
    const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -shortest';
    clip = await sample('deleted.mp4', `${inputs} ${codecs}`);
  });

  it('C29.18: playback stops within ten seconds, and nothing of the media is left on two servers, in the bucket and in the database', async () => {
    const { fleet, servers, hash, token } = await encryptedStream();
    const headers = { authorization: `Bearer ${token}` };
    const below = (await filesOf(fleet.media))
      .map((file) => file.split(`/${hash}/`)[1])
      // No player may read the digests.
      .filter((path) => path !== undefined && !path.endsWith('/SHA256SUMS'));
    const paths = [...below.map((path) => `/stream/${hash}/${path}`), `/api/key/${hash}`];
    const answers = () =>
      Promise.all(
        servers.flatMap(({ url }) => paths.map(async (path) => (await fetch(url + path, { headers })).status)),
      );
    expect(new Set(await answers())).toEqual(new Set([200]));
    const { rows } = await fleet.database.pool.query<{ row: string }>(
      `select envelope ->> 'ciphertext' as row from content_keys where hash = $1`,
      [hash],
    );
    const wrapped = rows[0]?.row ?? '';
    expect(await tablesWith(fleet, wrapped)).toEqual(['content_keys']);

    const { page } = await openPage();
    await page.goto(playerUrl(servers[1].url, { hash, token }));
    await waitForTime(page, 8);
    const apiKey = { 'x-api-key': secrets.API_KEY };
    const deletedAt = Date.now();
    await fetch(`${servers[0].url}/api/media/${hash}`, { method: 'DELETE', headers: apiKey });
    await expect.poll(() => messageOf(page), { timeout: 60_000, interval: 100 }).toMatch(/^deleted: /);
    expect(Date.now() - deletedAt).toBeLessThan(10_000);
    const { time } = await stateOf(page);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect((await stateOf(page)).time).toBe(time);

    const deletion = await until(
      async () => {
        const answer = await fetch(`${servers[0].url}/api/media/${hash}/deletion`, { headers: apiKey });
        return (await answer.json()) as { status: string; receipt: { kid: string } };
      },
      ({ status }) => status === 'deleted',
      60_000,
    );
    expect(new Set(await answers())).toEqual(new Set([410]));
    expect(await filesOf(fleet.media)).toEqual([]);
    expect(await tablesWith(fleet, wrapped)).toEqual([]);
    expect(await receiptHolds(deletion.receipt)).toBe(true);
    expect(await receiptHolds({ ...deletion.receipt, kid: 'other' })).toBe(false);
  });
});
