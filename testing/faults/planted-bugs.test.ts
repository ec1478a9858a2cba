import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkout } from '../checkout.ts';
import { edited, plantedBugs } from './planted-bugs.ts';

it.each(Object.entries(plantedBugs))('%s still has a place where it can be planted', async (_, edits) => {
  for (const edit of edits) {
    const text = await readFile(join(checkout, edit.file), 'utf8');
    expect(edited(text, edit)).not.toBe(text);
  }
});
