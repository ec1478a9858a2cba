import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { jobErrorCodes, jobErrors, requestErrors, type RequestErrorCode } from '#domain/errors.ts';
import { statusOfProblem } from '#platform/http/problem-response.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { apiVersion } from '#domain/kubernetes/custom-resource.ts';
import { runnerPoolResource } from '#domain/kubernetes/runner-pool.ts';
import { PoolGauges } from '../../controller/kubernetes/pools/pool-gauges.ts';
import { readSources } from '../../testing/imports.ts';
import { type LogCall, logCallsOf } from './log-phrases.ts';

// The pages that operators look things up in and the chart's monitoring, compared with what the code has.

const runbooks = readFileSync('docs/guides/runbooks.md', 'utf8');
const metricsPage = readFileSync('docs/reference/metrics.md', 'utf8');
const alerts = parse(readFileSync('charts/reelwright/monitoring/alerts.yaml', 'utf8')) as {
  alert: string;
  expr: string;
}[];
const dashboard = readFileSync('charts/reelwright/monitoring/dashboard.json', 'utf8');
const families = new Metrics().registry.getMetricsAsArray().map(({ name }) => name);
const own = families.filter((name) => name.startsWith('svc_'));

/** The metric families named in a text, without the suffixes of a histogram's series. */
const namedIn = (text: string) =>
  [...new Set(text.match(/svc_[a-z_]+/g))].map((name) => name.replace(/_(bucket|sum|count)$/, ''));

describe('runbooks and metrics', () => {
  it.each(alerts.map(({ alert }) => alert))('docs/guides/runbooks.md has a runbook for the alert %s', (alert) => {
    expect(runbooks).toContain(`\n## ${alert}\n`);
  });

  it('docs/guides/runbooks.md has runbooks for existing alerts only', () => {
    const listed = [...runbooks.matchAll(/^## (Reelwright\w+)$/gm)].map((match) => String(match[1]));
    expect(listed.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  it('docs/reference/metrics.md names every metric and no unknown one', () => {
    expect(own.filter((name) => !metricsPage.includes(`\`${name}\``))).toEqual([]);
    expect(namedIn(metricsPage).filter((name) => !own.includes(name))).toEqual([]);
  });
});

it('the example of KEDA scales a kind with a scale subresource by a series that every pool has', async () => {
  const { kind, spec } = parse(readFileSync('examples/keda/runner-pool.yaml', 'utf8')) as {
    kind: string;
    spec: { scaleTargetRef: Record<string, string>; triggers: { type: string; metadata: { query: string } }[] };
  };
  const { apiVersion: version, kind: target, name: pool = '' } = spec.scaleTargetRef;
  expect([kind, version, target]).toEqual(['ScaledObject', apiVersion, runnerPoolResource.kind]);
  expect(runnerPoolResource.scale?.specReplicasPath).toBe('.spec.concurrency');
  const metrics = new Metrics();
  const numbers = { concurrency: 1, active: 1, pending: 1, retry: 1, oldestSeconds: 1 };
  new PoolGauges(metrics).show(new Map([[pool, numbers]]));
  const series = await metrics.registry.metrics();
  const [, family, labels = '', states = ''] =
    /(svc_\w+)\{(.+), state=~"(.+)"\}/.exec(spec.triggers[0]?.metadata.query ?? '') ?? [];
  expect(states.split('|')).toEqual(['pending', 'active']);
  for (const state of states.split('|')) expect(series).toContain(`${family}{${labels},state="${state}"} 1\n`);
});

/** The cells of the tables below a heading of a page, without the heads. */
function rowsBelow(page: string, heading: string): string[][] {
  const section =
    readFileSync(page, 'utf8')
      .split(/^#{1,2} /m)
      .find((text) => text.startsWith(`${heading}\n`)) ?? '';
  const rows = section.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

describe('docs/reference/errors.md', () => {
  it('docs/reference/errors.md lists every error code of a job and whether it can be retried', () => {
    const listed = rowsBelow('docs/reference/errors.md', 'Of a job').map(([code, retryable]) => [code, retryable]);
    const expected = jobErrorCodes.map((code) => [`\`${code}\``, jobErrors[code].retryable ? 'yes' : 'no']);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected));
  });

  it('docs/reference/errors.md lists every error code of a request with its status', () => {
    const listed = rowsBelow('docs/reference/errors.md', 'Of a request').map(([code, status]) => [code, status]);
    const codes = Object.keys(requestErrors) as RequestErrorCode[];
    const expected = codes.map((code) => [`\`${code}\``, String(statusOfProblem(code))]);
    expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(expected));
  });
});

/** The service's own code; tests and tools log for developers. */
const logging = /^(?:main\.ts|http-service\.ts|api|delivery|controller|jobs|platform|runner)\b(?!.*\.test\.ts$)/;

/** Phrases that a call takes from a closed list of its file. */
const listedPhrases: Readonly<Record<string, readonly string[]>> = {
  'api/audit.ts': [
    'job submitted',
    'job retried',
    'job made again',
    'job cancelled',
    'webhook redelivered',
    'media changed',
    'media deletion requested',
    'revision published',
    'rollout begun',
    'rollout paused',
    'rollout resumed',
    'rollout rollback requested',
    'rollout cancellation requested',
    'upload begun',
    'upload completed',
    'upload deleted',
    'import begun',
    'import cancelled',
    'API key made',
    'API key revoked',
    'session begun',
    'session ended',
  ],
};

/** The phrases of a log call; phrases of a closed list only where its file names them. */
function phrasesOf({ place, phrases }: LogCall): readonly string[] {
  const path = place.replace(/:\d+$/, '');
  const listed = listedPhrases[path];
  if (phrases.length > 0 || listed === undefined) return phrases;
  const text = readFileSync(path, 'utf8');
  return listed.filter((phrase) => text.includes(`'${phrase}'`));
}

describe('docs/reference/log-lines.md', () => {
  const sources = readSources('.').filter(({ path }) => logging.test(path));
  const calls = sources.flatMap(logCallsOf).map((logged) => ({ ...logged, phrases: phrasesOf(logged) }));

  it('every log line is a fixed phrase', () => {
    expect(calls.length).toBeGreaterThan(50);
    expect(calls.filter(({ phrases }) => phrases.length === 0).map(({ place }) => place)).toEqual([]);
  });

  it('docs/reference/log-lines.md lists every log line with its level, and no line that does not exist', () => {
    const logged = calls.flatMap(({ level, phrases }) => phrases.map((phrase) => `${phrase} (${level})`));
    const sections = readFileSync('docs/reference/log-lines.md', 'utf8').split(/^## /m).slice(1);
    const listed = sections.flatMap((section) =>
      [...section.matchAll(/^- `([^`]+)`: /gm)].map(([, phrase]) => `${phrase} (${section.split('\n', 1)[0]})`),
    );
    expect(listed.toSorted()).toEqual([...new Set(logged)].toSorted());
  });
});

describe('the monitoring of the chart', () => {
  it.each([
    ['alerts', alerts.map(({ expr }) => expr).join('\n')],
    ['dashboard', dashboard],
  ])('the chart uses existing metrics only in its %s', (_, text) => {
    expect(namedIn(text)).not.toEqual([]);
    expect(namedIn(text).filter((name) => !own.includes(name))).toEqual([]);
  });

  it('each panel of the dashboard has a description', () => {
    const { panels } = JSON.parse(dashboard) as { panels: { title: string; description?: string }[] };
    expect(panels.filter(({ description = '' }) => description === '').map(({ title }) => title)).toEqual([]);
  });

  /** Whether a selector of an alert, such as `route=~"…"`, accepts a value of its label. */
  const accepts = (name: string, label: string, value: string) => {
    const { expr } = alerts.find(({ alert }) => alert === name) ?? { expr: '' };
    const [, operator = '', pattern = ''] = new RegExp(`${label}([!=]~)"([^"]*)"`).exec(expr) ?? [];
    expect(operator).not.toBe('');
    return new RegExp(`^(?:${pattern})$`).test(value) === (operator === '=~');
  };

  it.each([
    [
      'ReelwrightApiErrors',
      'route',
      ['/api/jobs', '/api/jobs/{id}/retry'],
      ['/stream/{hash}/*', '/thumb/{sig}/{encoded_key}'],
    ],
    [
      'ReelwrightDeliveryErrors',
      'route',
      ['/stream/{hash}/*', '/s/{ticket}/{hash}/*'],
      ['/api/jobs', '/api/key/{hash}', 'unmatched'],
    ],
    ['ReelwrightImageErrors', 'status', ['500', '502', 'storage_error', 'internal'], ['403', '404', '422']],
  ])('the alert %s counts its own values of the label %s only', (alert, label, counted, others) => {
    expect(counted.filter((value) => !accepts(alert, label, value))).toEqual([]);
    expect(others.filter((value) => accepts(alert, label, value))).toEqual([]);
  });
});
