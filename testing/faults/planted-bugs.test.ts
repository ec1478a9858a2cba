import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { checkout } from '../checkout.ts';
import { plantedCrossings } from './crossings/planted-crossings.ts';
import { plantedBugs } from './planted-bugs.ts';
import { shorterWaits } from './shorter-waits.ts';
import { edited } from './text-edits.ts';

const crossings = Object.entries(plantedCrossings).map(([name, { edits = [] }]) => [name, edits] as const);
const edits = { ...plantedBugs, ...Object.fromEntries(crossings), 'a shorter wait': shorterWaits };

it.each(Object.entries(edits))('%s still has a place where it can be planted', async (_, ofOne) => {
  for (const edit of ofOne) {
    const text = await readFile(join(checkout, edit.file), 'utf8');
    expect(edited(text, edit)).not.toBe(text);
  }
});
