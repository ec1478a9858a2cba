import { join } from 'node:path';

/** The folder of this repository. */
export const checkout = join(import.meta.dirname, '..');

/** Where programs of the tests keep their compiled modules: each of hundreds would compile the same ones first. */
export const compileCache = join(checkout, 'node_modules/.cache/compiled');
