import { describe, expect, it } from 'vitest';
import { Once } from './once.ts';

describe('Once', () => {
  it('makes its value at the first use, once for all', async () => {
    let made = 0;
    const once = new Once(async () => (made += 1));
    expect(once.current()).toBeNull();
    expect(await Promise.all([once.get(), once.get()])).toEqual([1, 1]);
    expect(await once.get()).toBe(1);
    expect(await once.current()).toBe(1);
  });

  it('gives a failure to all who wait, and makes the value at the next use', async () => {
    let tries = 0;
    const once = new Once(async () => {
      tries += 1;
      if (tries === 1) throw new Error('no descriptor');
      return 'made';
    });
    const answers = await Promise.allSettled([once.get(), once.get()]);
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(once.current()).toBeNull();
    expect(await once.get()).toBe('made');
    expect(tries).toBe(2);
  });
});
