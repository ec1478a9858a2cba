import { execFile } from 'node:child_process';
import { copyFile, cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { checkout } from '../../testing/checkout.ts';
import { installClient } from '../../testing/client-package.ts';
import { secrets } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import type { StageService } from '../../testing/stage/service.ts';
import { onStage } from '../../testing/stage/stage.ts';

// examples/, as far as examples/README.md says that they are tried: the programs against a live service, the rest by
// their form. test/integration/player-docs.deep.test.ts plays the pages, and player-element.test.ts the React example.

const run = promisify(execFile);
const jq = findProgram('jq');
const assets = process.env['KUBEBUILDER_ASSETS'];
const helm = findProgram('helm') ?? (assets === undefined ? null : join(assets, 'helm'));
const example = (path: string) => join(checkout, 'examples', path);
const text = (path: string) => readFile(example(path), 'utf8');

let service: StageService;
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-examples-'));
  if (!inject('postgres')) return;
  service = await onStage('service');
  await cp(example('.'), folder, { recursive: true });
  await installClient(folder);
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const environment = () => ({
  ...process.env,
  API: service.url,
  API_KEY: secrets.API_KEY,
  KEY_TOKEN_SECRET: secrets.KEY_TOKEN_SECRET,
});

async function compileErrors(...files: string[]): Promise<string> {
  const options = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const compiled = run(join(checkout, 'node_modules/.bin/tsc'), [...options, ...files], { cwd: folder });
  return (await compiled.catch((error: { stdout: string }) => error)).stdout;
}

describe.skipIf(!inject('postgres'))('examples that are programs', () => {
  it('node/submit.ts and the token route compile; a video is uploaded, made and its token opens the key', async () => {
    const route = 'next/app/api/playback-token/route.ts';
    expect(await compileErrors('node/submit.ts', route)).toBe('');
    await copyFile(join(service.source, 'clip.mp4'), join(folder, 'my clip.mp4'));
    const submitted = await run('node', ['node/submit.ts', 'my clip.mp4'], { cwd: folder, env: environment() });
    expect(submitted.stdout).toMatch(/^\d+ %\n/);
    const [, stream = ''] = /^(http\S+), \d rungs$/m.exec(submitted.stdout) ?? [];
    const hash = 'my-clip-mp4';
    expect([stream, (await fetch(stream)).status]).toEqual([`${service.url}/stream/${hash}/master.m3u8`, 200]);

    const calls = `
      import { GET } from './${route}';
      const ask = async (headers) => {
        const answer = await GET(new Request('http://app/api/playback-token?hash=${hash}', { headers }));
        return [answer.status, await answer.text()];
      };
      console.log(JSON.stringify([await ask({}), await ask({ cookie: 'a=b; session=1' })]));`;
    await writeFile(join(folder, 'calls.ts'), calls);
    const asked = JSON.parse((await run('node', ['calls.ts'], { cwd: folder, env: environment() })).stdout) as [
      [number, string],
      [number, string],
    ];
    expect([asked[0], asked[1][0]]).toEqual([[403, 'forbidden'], 200]);
    const headers = { authorization: `Bearer ${asked[1][1]}` };
    expect((await fetch(`${service.url}/api/key/${hash}`, { headers })).status).toBe(200);
  });

  it.skipIf(jq === null)('the steps of the workflow submit a job, wait for it, and fail with it', async () => {
    const { jobs } = parse(await text('github-action/transcode.yaml')) as {
      jobs: { transcode: { env: Record<string, string>; steps: { run: string }[] } };
    };
    expect(Object.keys(jobs.transcode.env)).toEqual(['API', 'API_KEY', 'SOURCE', 'HASH']);
    const runSteps = async (SOURCE: string, HASH: string) => {
      // Each step is a shell of its own, and gets what the one before has added to the environment.
      const written = {
        GITHUB_ENV: join(folder, `env-${HASH}`),
        GITHUB_STEP_SUMMARY: join(folder, `summary-${HASH}`),
      };
      const steps = jobs.transcode.steps.map(({ run: script }) => script.replace('sleep 5', 'sleep 1'));
      let env: NodeJS.ProcessEnv = { ...environment(), ...written, SOURCE, HASH };
      const outputs: string[] = [];
      for (const script of steps) {
        outputs.push((await run('bash', ['-eo', 'pipefail', '-c', script], { env })).stdout);
        const added = (await readFile(written.GITHUB_ENV, 'utf8')).trim().split('\n');
        env = {
          ...env,
          ...Object.fromEntries(added.map((line) => line.split(/=(.*)/s).slice(0, 2) as [string, string])),
        };
      }
      return { output: outputs.join(''), summary: await readFile(written.GITHUB_STEP_SUMMARY, 'utf8') };
    };
    const { output, summary } = await runSteps('clip.mp4', 'workflow');
    expect(output).toMatch(/completed \d+ %\n$/);
    expect((await fetch(summary.trim())).status).toBe(200);
    await writeFile(join(service.source, 'broken.mp4'), 'not a video');
    await expect(runSteps('broken.mp4', 'broken')).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/failed \d+ %\n\{\n {2}"code": "\w+"/) as string,
    });
  });
});

describe('examples by their form', () => {
  it('every file of examples has a line in its README, which names no other', async () => {
    const readme = await text('README.md');
    const linked = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, path]) => path ?? '');
    const { stdout } = await run('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'examples'], {
      cwd: checkout,
    });
    const files = stdout
      .trim()
      .split('\n')
      .map((path) => path.replace('examples/', ''));
    const helpers = ['README.md', 'terraform/values.yaml'];
    const named = linked.map((path) =>
      /^(?:dash|hls|dashjs|native|videojs|shaka)\.html$/.test(path) ? `players/${path}` : path,
    );
    expect(named.filter((path) => !path.startsWith('../')).toSorted()).toEqual(
      files.filter((path) => !helpers.includes(path)).toSorted(),
    );
  });

  it('Flux and Argo CD get documents of their kinds, which install the chart of this repository', async () => {
    const [repository, release] = parseAllDocuments(await text('flux/reelwright.yaml')).map((each) => each.toJS());
    expect([repository.kind, release.kind]).toEqual(['GitRepository', 'HelmRelease']);
    expect(release.apiVersion).toBe('helm.toolkit.fluxcd.io/v2');
    expect(release.spec.chart.spec).toMatchObject({
      chart: 'charts/reelwright',
      sourceRef: { kind: repository.kind, name: repository.metadata.name },
    });
    const { apiVersion, kind, spec } = parse(await text('argo-cd/application.yaml'));
    expect([apiVersion, kind, spec.source.path]).toEqual(['argoproj.io/v1alpha1', 'Application', 'charts/reelwright']);
  });

  it.skipIf(helm === null)('the chart takes the values of Flux, Argo CD and Terraform', async () => {
    const [, release] = parseAllDocuments(await text('flux/reelwright.yaml')).map((each) => each.toJS());
    const application = parse(await text('argo-cd/application.yaml'));
    const values = [
      release.spec.values,
      application.spec.source.helm.valuesObject,
      parse(await text('terraform/values.yaml')),
    ];
    for (const each of values) {
      const file = join(folder, 'values.json');
      await writeFile(file, JSON.stringify(each));
      const args = ['template', 'reelwright', join(checkout, 'charts/reelwright'), '--kube-version', '1.34.0'];
      const { stdout } = await run(helm ?? '', [...args, '--values', file], { maxBuffer: 16 * 1024 * 1024 });
      expect(stdout).toContain('image: registry.example.com/media/reelwright:');
      await writeFile(file, JSON.stringify({ ...each, baseURL: 'https://media.example.com' }));
      await expect(run(helm ?? '', [...args, '--values', file])).rejects.toThrow(/baseURL/);
    }
  });
});
