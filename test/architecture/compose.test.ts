import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { loadConfig } from '#platform/config/config.ts';
import { promtool } from '../../testing/alert-rules.ts';
import { findProgram } from '../../testing/servers.ts';

// compose.yaml as far as it can be tried without Docker: its form, that the service takes each environment, and that
// each secret and file that it names has a source. .github/workflows/e2e.yml starts it.

const names = z.array(z.string());
const conditions = z.enum(['service_started', 'service_healthy', 'service_completed_successfully']);

/** The fields of the Compose Specification that compose.yaml uses; any other one is a fault. */
const composeFile = z.strictObject({
  name: z.string(),
  services: z.record(
    z.string(),
    z
      .strictObject({
        build: z.strictObject({ context: z.literal('.'), target: z.string() }),
        image: z.string().regex(/:[\w.-]+$/, 'must name a version'),
        restart: z.literal('unless-stopped'),
        read_only: z.boolean(),
        tmpfs: names,
        cap_drop: z.tuple([z.literal('ALL')]),
        security_opt: names,
        environment: z.record(z.string(), z.string()),
        secrets: names,
        configs: z.array(z.strictObject({ source: z.string(), target: z.string().startsWith('/') })),
        extra_hosts: names,
        ports: z.array(z.string().regex(/^127\.0\.0\.1:\d+:\d+$/, 'must be open to this machine alone')),
        depends_on: z.record(z.string(), z.strictObject({ condition: conditions })),
        stop_grace_period: z.string(),
        entrypoint: names,
        command: names,
        volumes: z.array(z.string().regex(/^[a-z0-9]+:\/[\w/]+$/)),
        healthcheck: z.strictObject({ test: names, interval: z.string(), retries: z.number().int() }),
      })
      .partial()
      .required({ image: true, restart: true }),
  ),
  volumes: z.record(z.string(), z.null()),
  configs: z.record(z.string(), z.strictObject({ file: z.string() })),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
});

const text = readFileSync('compose.yaml', 'utf8');
const parsed = parse(text, { merge: true }) as Record<string, unknown>;
const document = Object.fromEntries(Object.entries(parsed).filter(([name]) => !name.startsWith('x-')));
const compose = composeFile.parse(document);
const services = Object.entries(compose.services);
const ours = services.filter(([, { build }]) => build !== undefined);
const stages = [...readFileSync('Dockerfile', 'utf8').matchAll(/^FROM \S+ AS (\S+)$/gm)].map(([, name]) => name);
const chart = parse(readFileSync('charts/reelwright/values.yaml', 'utf8')) as {
  dev: Record<'postgres' | 'redis' | 's3', { image: string }>;
};

/** `${NAME:-default}` without NAME; `$$` is one `$`. */
const withDefaults = (value: string) => value.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1').replaceAll('$$', '$');

let folder: string;
const secretFile = (name: string) => join(folder, compose.secrets[name]?.file ?? `no secret ${name}`);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'reelwright-compose-'));
  cpSync('compose', join(folder, 'compose'), { recursive: true });
  execFileSync(join(folder, 'compose/make-secrets'), { stdio: 'pipe' });
});
afterAll(() => rmSync(folder, { recursive: true }));

/** The environment of a service as its process sees it, with secrets where they are on this machine. */
function environmentOf(name: string): Record<string, string> {
  const { environment = {}, secrets = [] } = compose.services[name] ?? {};
  const entries = Object.entries(environment).map(([variable, value]) => {
    const secret = /^\/run\/secrets\/(\w+)$/.exec(value)?.[1];
    if (secret === undefined) return [variable, withDefaults(value)];
    expect(secrets, `secrets of ${name}`).toContain(secret);
    return [variable, secretFile(secret)];
  });
  // As the image sets them.
  return { HOST: '0.0.0.0', PORT: '3000', ...(Object.fromEntries(entries) as Record<string, string>) };
}

describe('compose.yaml', () => {
  it.each(ours.map(([name]) => name))(
    'the service %s has a configuration that loads, without unknown names',
    (name) => {
      const loaded = loadConfig(environmentOf(name), []);
      expect(loaded).not.toHaveProperty('faults');
      expect(loaded).toMatchObject({ misspelt: [] });
      // A name that is like no variable is not reported as misspelt.
      const known = readFileSync('docs/reference/configuration.md', 'utf8');
      const variables = Object.keys(compose.services[name]?.environment ?? {}).map((key) => key.replace(/_FILE$/, ''));
      expect(variables.filter((key) => !known.includes(`| \`${key}\``))).toEqual([]);
    },
  );

  it('api, delivery and worker share what they must share, and each has the secrets that it needs alone', () => {
    const environments = ours.map(([name]) => environmentOf(name));
    const shared = ['DATABASE_URL_FILE', 'REDIS_URL', 'BASE_URL', 'MEDIA_BUCKET', 'ENCRYPTION_KEY_FILE'];
    for (const variable of shared) expect(new Set(environments.map((env) => env[variable])).size, variable).toBe(1);
    expect(ours.map(([name, { secrets = [] }]) => [name, secrets.toSorted()])).toEqual([
      ['api', ['API_KEY', 'DATABASE_URL', 'ENCRYPTION_KEY', 'KEY_TOKEN_SECRET', 'S3_SECRET']],
      ['delivery', ['DATABASE_URL', 'ENCRYPTION_KEY', 'KEY_TOKEN_SECRET', 'S3_SECRET']],
      ['worker', ['DATABASE_URL', 'ENCRYPTION_KEY', 'S3_SECRET', 'WEBHOOK_SECRET']],
    ]);
  });

  it('every secret comes from compose/make-secrets, is in a folder of its owner alone, and is made once', () => {
    const granted = new Set(services.flatMap(([, { secrets = [] }]) => secrets));
    expect([...granted].toSorted()).toEqual(Object.keys(compose.secrets).toSorted());
    const made = Object.keys(compose.secrets).map((name) => readFileSync(secretFile(name), 'utf8'));
    expect(new Set(made).size).toBe(made.length);
    const dir = join(folder, '.reelwright/compose');
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(readdirSync(dir).toSorted()).toEqual(Object.keys(compose.secrets).toSorted());
    execFileSync(join(folder, 'compose/make-secrets'), { stdio: 'pipe' });
    expect(Object.keys(compose.secrets).map((name) => readFileSync(secretFile(name), 'utf8'))).toEqual(made);
    expect(made[0]).toContain(readFileSync(secretFile('POSTGRES_PASSWORD'), 'utf8'));
  });

  it('everything that a service names is there: stages, files, volumes, services, and the images of the chart', () => {
    expect(ours.map(([, { build }]) => build?.target)).toEqual(['reelwright', 'reelwright', 'worker']);
    expect(stages).toEqual(expect.arrayContaining(['reelwright', 'worker']));
    for (const [name, service] of services) {
      for (const { source } of service.configs ?? []) expect(compose.configs, name).toHaveProperty([source]);
      for (const volume of service.volumes ?? [])
        expect(compose.volumes, name).toHaveProperty([volume.split(':')[0] ?? '']);
      for (const [other, { condition }] of Object.entries(service.depends_on ?? {})) {
        // The image of the service has a check of its own.
        const { healthcheck, build } = compose.services[other] ?? {};
        expect([other, condition, healthcheck ?? build]).toEqual([other, 'service_healthy', expect.anything()]);
      }
    }
    const missing = Object.values(compose.configs).filter(({ file }) => !existsSync(file));
    expect(missing).toEqual([]);
    const { postgres, redis, s3 } = compose.services;
    expect([postgres?.image, redis?.image, s3?.image]).toEqual([
      chart.dev.postgres.image,
      chart.dev.redis.image,
      chart.dev.s3.image,
    ]);
  });

  it.skipIf(promtool === null)('Prometheus takes its configuration', () => {
    execFileSync(promtool ?? '', ['check', 'config', 'compose/prometheus.yaml'], { stdio: 'pipe' });
  });

  const docker = findProgram('docker');
  const hasCompose = () => {
    try {
      execFileSync(docker ?? '', ['compose', 'version'], { stdio: 'pipe' });
      return true;
    } catch {
      return false;
    }
  };
  it.skipIf(docker === null || !hasCompose())('Docker Compose takes the file', () => {
    execFileSync(docker ?? '', ['compose', 'config', '--quiet'], { stdio: 'pipe' });
  });
});
