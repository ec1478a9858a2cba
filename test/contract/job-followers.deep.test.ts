import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { apiKey, startApi } from './api-under-test.ts';
import { thumbnailResults } from './results.ts';

const script = join(import.meta.dirname, '../fixtures/job-followers.ts');
const followers = 1500;

/** The most memory that this process has while `work` runs. */
async function peakOf(work: () => Promise<unknown>): Promise<number> {
  let peak = process.memoryUsage().rss;
  const timer = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 10);
  await work();
  clearInterval(timer);
  return peak;
}

it('1,500 followers of one job with results of 288 kB take less than 60 MB at its end', async () => {
  const api = await startApi();
  onTestFinished(() => api.close());
  const { json } = await api.submit({ type: 'image:thumbnail', hash: 'followed', source: 'a.jpg' });
  const url = `${api.url}/api/jobs/${json.job_id}/events`;
  const child = spawn(process.execPath, [script, url, apiKey, String(followers)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill());
  const lines = createInterface({ input: child.stdout });
  expect(await once(lines, 'line')).toEqual(['open']);
  const idle = process.memoryUsage().rss;
  const results = { ...thumbnailResults, key: 'k'.repeat(288_000) };
  const peak = await peakOf(async () => {
    const line = once(lines, 'line');
    await api.complete(json.job_id as string, results);
    expect(await line).toEqual([`completed ${followers}`]);
  });
  expect(peak - idle).toBeLessThan(60e6);
});
