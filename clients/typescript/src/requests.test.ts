import { expect, it } from 'vitest';
import { pagesOf } from './requests.ts';

it('every page of a list has the filter of the first one', async () => {
  const filter: { status: string; limit: number; cursor?: string } = { status: 'failed', limit: 2 };
  const asked: object[] = [];
  const pages = pagesOf(filter, (query) => {
    asked.push(query);
    return Promise.resolve({ items: [asked.length], next: asked.length < 3 ? `c${asked.length}` : null });
  });
  expect(await Array.fromAsync(pages)).toEqual([1, 2, 3]);
  expect(asked).toEqual([filter, { ...filter, cursor: 'c1' }, { ...filter, cursor: 'c2' }]);
});
