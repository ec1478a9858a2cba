import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { chartSettings, chartSettingsFile } from './generate-chart-settings.ts';

test('settings.yaml of the chart equals what scripts/generate-chart-settings.ts generates (else: make generate)', async () => {
  expect(await readFile(chartSettingsFile, 'utf8')).toBe(chartSettings());
});
