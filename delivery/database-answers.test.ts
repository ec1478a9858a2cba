import { expect, it } from 'vitest';
import { DatabaseAnswers } from './database-answers.ts';

it('all who ask at once share one query, whose answer is remembered until it is forgotten', async () => {
  const asked: string[] = [];
  const answers = new DatabaseAnswers(async (hash) => ({ number: asked.push(hash) }));
  expect(await Promise.all([answers.ask('a'), answers.ask('a')])).toEqual([{ number: 1 }, { number: 1 }]);
  expect([await answers.ask('a'), answers.remembered('a'), asked]).toEqual([{ number: 1 }, { number: 1 }, ['a']]);
  answers.forget('a');
  expect([answers.remembered('a'), await answers.ask('a')]).toEqual([undefined, { number: 2 }]);
});

it('a database that is away is asked once a second, not once for each request', async () => {
  let questions = 0;
  const answers = new DatabaseAnswers(async (): Promise<object> => {
    questions += 1;
    throw new Error('away');
  });
  for (let request = 0; request < 100; request++) expect(await answers.ask(`movie-${request}`)).toBeUndefined();
  expect(questions).toBe(1);
});
