import { expect, it } from 'vitest';
import { choicesOf, pagesOf } from './requests.ts';

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

it('a title and metadata are percent-encoded, since headers are ASCII', () => {
  const { params } = choicesOf({ title: 'São Paulo 100% 🎬', metadata: { customer: '4 & 2', place: 'São=1' } });
  expect(params.header).toEqual({
    'X-Title': 'S%C3%A3o%20Paulo%20100%25%20%F0%9F%8E%AC',
    'X-Metadata': 'customer=4+%26+2&place=S%C3%A3o%3D1',
  });
});
