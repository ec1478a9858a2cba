import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { holesIn, isAllowed, refusedLicences } from './audit.ts';

it.each([
  ['MIT', true],
  ['(BSD-3-Clause OR GPL-2.0)', true],
  ['(MIT AND GPL-3.0)', false],
  ['GPL-3.0-or-later', false],
  ['none', false],
])('the licence %s is allowed: %s', (licence, expected) => expect(isAllowed(licence)).toBe(expected));

it('every installed package has a licence that is allowed', () => {
  expect(refusedLicences(join(import.meta.dirname, '..'))).toEqual([]);
});

it.each([
  [true, []],
  [false, ['caniuse-lite: CC-BY-4.0']],
])('the data of a tool is allowed where it serves development alone: dev %s', async (dev, refused) => {
  const root = await mkdtemp(join(tmpdir(), 'reelwright-audit-'));
  const path = 'node_modules/caniuse-lite';
  await mkdir(join(root, path), { recursive: true });
  await writeFile(join(root, path, 'package.json'), '{"license":"CC-BY-4.0"}');
  await writeFile(join(root, 'node_modules/.package-lock.json'), JSON.stringify({ packages: { [path]: { dev } } }));
  expect(refusedLicences(root)).toEqual(refused);
  await rm(root, { recursive: true });
});

it('holes are counted, and an answer without them is no answer of a registry', () => {
  expect(holesIn('{"metadata":{"vulnerabilities":{"low":3,"high":1,"critical":2}}}')).toBe(3);
  expect(holesIn('{"statusCode":405,"message":"405 Method Not Allowed"}')).toBeNull();
  expect(holesIn('')).toBeNull();
});
