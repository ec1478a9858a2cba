import { expect, it } from 'vitest';
import { type Unit, unitAttributes, type UnitKind, unitOf, unitSchema } from './unit.ts';

it.each<[UnitKind, Unit, object]>([
  ['whole', { kind: 'whole' }, { 'job.unit': 'whole' }],
  ['image', { kind: 'image' }, { 'job.unit': 'image' }],
  ['split', { kind: 'split', chunk_sec: 30 }, { 'job.unit': 'split' }],
  ['chunk', { kind: 'chunk', chunk: 4 }, { 'job.unit': 'chunk', 'job.chunk': 4 }],
  ['finish', { kind: 'finish' }, { 'job.unit': 'finish' }],
])('a unit %s has what its kind needs in tasks and in traces', (kind, unit, attributes) => {
  expect(unitOf(kind, { chunkSec: 30, chunk: 4 })).toEqual(unit);
  expect(unitSchema.parse(unit)).toEqual(unit);
  expect(unitAttributes(unit)).toEqual(attributes);
});
