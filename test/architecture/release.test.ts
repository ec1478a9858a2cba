import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { parse } from 'yaml';

// What docs/releasing.md asks of a release, as far as the tree shows it.

const read = (path: string) => readFileSync(path, 'utf8');
const { version } = JSON.parse(read('package.json')) as { version: string };

it('package.json, package-lock.json and the chart have one version', () => {
  const lock = JSON.parse(read('package-lock.json')) as { version: string; packages: { '': { version: string } } };
  const chart = parse(read('charts/reelwright/Chart.yaml')) as { version: string; appVersion: string };
  const versions = [lock.version, lock.packages[''].version, chart.version, chart.appVersion];
  expect(versions).toEqual(versions.map(() => version));
});

it('CHANGELOG.md begins with unreleased changes, and has a dated section of every release', () => {
  const [first, ...others] = [...read('CHANGELOG.md').matchAll(/^## (.+)$/gm)].map(([, heading]) => heading ?? '');
  const tags = execFileSync('git', ['tag', '--list', 'v*'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  const versions = others.map((heading) => /^\[(.+)\] - \d{4}-\d{2}-\d{2}$/.exec(heading)?.[1]);
  expect(first).toBe('[Unreleased]');
  expect(tags.filter((tag) => !versions.includes(tag.slice(1)))).toEqual([]);
  // The section of a version comes with its number, before the tag.
  expect([undefined, version]).toContain(versions[0]);
  expect(versions).not.toContain(undefined);
});

it('every job of a workflow has a time limit, and no workflow may write by default', () => {
  for (const name of ['check', 'codeql', 'e2e', 'release']) {
    const workflow = parse(read(`.github/workflows/${name}.yml`)) as {
      permissions: Record<string, string>;
      jobs: Record<string, { uses?: string; 'timeout-minutes'?: number }>;
    };
    expect([name, workflow.permissions]).toEqual([name, { contents: 'read' }]);
    for (const [job, { uses, 'timeout-minutes': minutes }] of Object.entries(workflow.jobs))
      expect([name, job, uses !== undefined || Number(minutes) > 0]).toEqual([name, job, true]);
  }
});
