import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { openFolderStore } from '#platform/storage/folder/folder-store.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { publishWork } from './publish.ts';

it('what a unit hands on is named by its document only once every part of the source is stored', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-publish-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const path = join(folder, 'part');
  await writeFile(path, 'bytes');
  await mkdir(join(folder, 'media'));
  const media = openFolderStore(join(folder, 'media'));
  const writes: string[] = [];
  const put = media.put.bind(media);
  const putNew = media.putNew.bind(media);
  media.put = async (...args) => {
    await sleep(20);
    await put(...args);
    writes.push(args[0]);
  };
  media.putNew = (...args) => {
    writes.push(args[0]);
    return putNew(...args);
  };
  const sources = [1, 2, 3, 4, 5].map((n) => ({ key: `source/${n}`, path }));
  const product = {
    once: [{ key: 'once/1', path }],
    sources,
    documents: (objects: readonly unknown[]) => [{ key: 'plan.json', content: { objects }, isOnce: true }],
    spent: [],
  };
  await publishWork(product, {
    media,
    reporter: { phase: () => {}, progress: () => {}, warn: () => {}, used: () => {}, result: () => {} },
    signal: new AbortController().signal,
    log: createLogger({ level: 'fatal', name: 'test' }),
  });
  expect(writes.at(0)).toBe('once/1');
  expect(writes.slice(1, -1).toSorted()).toEqual(sources.map(({ key }) => key));
  expect(writes.at(-1)).toBe('plan.json');
});
