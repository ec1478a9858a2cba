import { posix } from 'node:path';
import { expect, it, vi } from 'vitest';
import { forBrowser, sharedModules } from './console-modules.ts';

it('C31.2: every import of the modules that the console shares is the address of another one of them', async () => {
  const warned = vi.spyOn(process, 'emitWarning');
  const modules = await sharedModules();
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
  expect([...modules.keys()]).toEqual(
    expect.arrayContaining(['vendor/preact.js', 'vendor/preact-hooks.js', 'vendor/htm.js', 'client/index.js']),
  );
  for (const [address, text] of modules) {
    const names = [...text.matchAll(/\b(?:from|import)\s*["']([^"'\n]+)["']/g)].map(([, name = '']) => name);
    const found = names.map((name) => posix.join(posix.dirname(address), name));
    expect([address, found.filter((name) => !modules.has(name))]).toEqual([address, []]);
    expect(names.filter((name) => !name.startsWith('.'))).toEqual([]);
  }
  expect(modules.get('client/errors.js')).toContain('class ReelwrightError extends Error');
});

it.each([
  [`import { h } from 'preact';`, 'main.js', `import { h } from './vendor/preact.js';`],
  [`import{h}from"preact/hooks";`, 'vendor/a.js', `import{h}from"./preact-hooks.js";`],
  [`export * from './errors.ts';`, 'client/index.js', `export * from './errors.js';`],
  [`import { a } from '#clients/typescript/src/index.ts';`, 'views/a.js', `import { a } from '../client/index.js';`],
  [
    `import { a } from './b.js'; const text = 'from preact';`,
    'a.js',
    `import { a } from './b.js'; const text = 'from preact';`,
  ],
])('a browser gets %s of %s as %s', (text, address, expected) => {
  expect(forBrowser(text, address)).toBe(expected);
});
