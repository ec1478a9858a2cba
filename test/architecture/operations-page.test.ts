import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Metrics } from '#platform/telemetry/metrics.ts';

// docs/operations.md and the chart's monitoring, compared with the metrics and alerts that exist.

const page = readFileSync('docs/operations.md', 'utf8');
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

describe('docs/operations.md', () => {
  it.each(alerts.map(({ alert }) => alert))('docs/operations.md has a runbook for the alert %s', (alert) => {
    expect(page).toContain(`\n### ${alert}\n`);
  });

  it('docs/operations.md has runbooks for existing alerts only', () => {
    const runbooks = [...page.matchAll(/^### (Reelwright\w+)$/gm)].map((match) => String(match[1]));
    expect(runbooks.toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  it('docs/operations.md names every metric and no unknown one', () => {
    expect(own.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
    expect(namedIn(page).filter((name) => !own.includes(name))).toEqual([]);
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
});
