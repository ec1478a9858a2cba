import { expect, it } from 'vitest';
import { toolVersionPattern } from './tool-version.ts';

it.each(['0.9.10', '1.0.0-11', '1.0.0-2a', '1.0.0-alpha.beta', '1.0.0-rc.1', '10.20.0'])('%s is a version', (text) => {
  expect(text).toMatch(toolVersionPattern);
});

it.each(['', '1', '1.2', 'v1.2.3', '1.2.3-', '1.2.3-a..b', '1.2.3 ', '1.2.3+build', `1.2.${'9'.repeat(10)}`])(
  '"%s" is no version',
  (text) => {
    expect(text).not.toMatch(toolVersionPattern);
  },
);
