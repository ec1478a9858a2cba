import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkout } from '../../testing/checkout.ts';
import { missingForPython, runPython } from './python-client.ts';

it.each(['client', 'bounds', 'values'])('the tests of the Python client hold: tests/test_%s.py', async (name) => {
  expect(await missingForPython()).toBe('');
  await runPython(['-m', 'unittest', `tests/test_${name}.py`], { cwd: join(checkout, 'clients/python') });
});
