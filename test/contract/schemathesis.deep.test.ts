import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { findProgram } from '../../testing/servers.ts';
import { apiKey, keyTokenSecret, startApi } from './api-under-test.ts';

// schemathesis (PyPI) makes requests out of `/openapi.json`, valid ones and broken ones, and holds the answers against
// it. Where it is not installed (`pip install schemathesis`), nothing is tested.

const program = findProgram('schemathesis');

describe.skipIf(program === null)('schemathesis', () => {
  it('C28.1: requests made from the OpenAPI document find no 5xx, no answer outside it and no broken request accepted', async () => {
    const api = await startApi({ apiRateLimitPerMinute: 1_000_000, keyRateLimitPerMinute: 1_000_000 });
    const folder = await mkdtemp(join(tmpdir(), 'reelwright-schemathesis-'));
    try {
      await api.putSource('uploads/movie-1.mp4', 'x');
      const token = signPlaybackToken({ hash: 'movie-1', exp: Math.floor(Date.now() / 1000) + 3600 }, keyTokenSecret);
      const args = [
        'run',
        `${api.url}/openapi.json`,
        '--header',
        `X-API-Key: ${apiKey}`,
        '--header',
        `Authorization: Bearer ${token}`,
        // A request that the schema allows may still name a source that is not there, which is 400.
        // A deleted media is no 404 afterwards: it answers with its deletion, and has no files.
        '--exclude-checks',
        'positive_data_acceptance,use_after_free',
        // An answer without an end.
        '--exclude-path',
        '/api/jobs/{id}/events',
        '--max-examples',
        process.env['SCHEMATHESIS_EXAMPLES'] ?? '30',
        '--request-timeout',
        '20',
        '--continue-on-failure',
        '--seed',
        '1',
      ];
      const child = spawn(program ?? '', args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      const exited = new Promise<number | null>((resolve) => child.once('close', resolve));
      const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), exited]);
      expect(code, `${output.slice(-20_000)}${errors.slice(-2000)}`).toBe(0);
    } finally {
      await rm(folder, { recursive: true, force: true });
      await api.close();
    }
  }, 600_000);
});
