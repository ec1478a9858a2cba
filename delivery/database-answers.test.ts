import { expect, it } from 'vitest';
import { DatabaseAnswers } from './database-answers.ts';

/** A database whose answers a test gives, in the order of the questions. */
function openDatabase() {
  const questions: { hash: string; answer: (generation: number) => void; fail: () => void }[] = [];
  const answers = new DatabaseAnswers((hash) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ readonly generation: number }>();
    const answer = (generation: number) => resolve({ generation });
    questions.push({ hash, answer, fail: () => reject(new Error('the database is away')) });
    return promise;
  });
  return { answers, questions };
}

it('who asked about a media that changes meanwhile gets what it is after the change', async () => {
  const { answers, questions } = openDatabase();
  const asked = answers.ask('a');
  answers.forget('a');
  questions[0]?.answer(0);
  await expect.poll(() => questions.length).toBe(2);
  questions[1]?.answer(1);
  expect(await asked).toEqual({ generation: 1 });
  expect(answers.remembered('a')).toEqual({ generation: 1 });
});

it('a change while the database answers is no outage: other media are asked about', async () => {
  const { answers, questions } = openDatabase();
  const asked = answers.ask('a');
  answers.forget('a');
  questions[0]?.answer(0);
  const other = answers.ask('b');
  await expect.poll(() => questions.map(({ hash }) => hash).toSorted()).toEqual(['a', 'a', 'b']);
  for (const { answer } of questions) answer(2);
  expect(await Promise.all([asked, other])).toEqual([{ generation: 2 }, { generation: 2 }]);
});

it('a database that is away is asked once a second, whatever is forgotten meanwhile', async () => {
  const { answers, questions } = openDatabase();
  const asked = answers.ask('a');
  questions[0]?.fail();
  expect(await asked).toBeUndefined();
  answers.forget('a');
  expect(await Promise.all([answers.ask('a'), answers.ask('b')])).toEqual([undefined, undefined]);
  expect(questions).toHaveLength(1);
});
