import { expect, it } from 'vitest';
import { isOlderVersion, toolVersionPattern } from './tool-version.ts';

// https://semver.org/#spec-item-11
const inOrder = [
  '0.9.10',
  '1.0.0-2',
  '1.0.0-11',
  '1.0.0-2a',
  '1.0.0-a2',
  '1.0.0-alpha',
  '1.0.0-alpha.1',
  '1.0.0-alpha.beta',
  '1.0.0-beta',
  '1.0.0-beta.2',
  '1.0.0-beta.11',
  '1.0.0-rc.1',
  '1.0.0',
  '1.0.2',
  '1.0.10',
  '1.2.0',
  '1.10.0',
  '10.0.0',
];

it('versions are in the order of Semantic Versioning', () => {
  for (const [index, version] of inOrder.entries())
    for (const [otherIndex, other] of inOrder.entries())
      expect([version, other, isOlderVersion(version, other)]).toEqual([version, other, index < otherIndex]);
});

it('what is no version is refused', () => {
  expect(inOrder.every((version) => toolVersionPattern.test(version))).toBe(true);
  for (const text of [
    '',
    '1',
    '1.2',
    'v1.2.3',
    '1.2.3-',
    '1.2.3-a..b',
    '1.2.3 ',
    '1.2.3+build',
    `1.2.${'9'.repeat(10)}`,
  ])
    expect([text, toolVersionPattern.test(text)]).toEqual([text, false]);
});
