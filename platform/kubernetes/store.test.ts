import { expect, test } from 'vitest';
import { type StoreHandlers, Store } from './store.ts';

interface Thing {
  metadata: { namespace?: string; name: string; uid: string; resourceVersion: string };
}

const thing = (name: string, uid: string, resourceVersion: string): Thing => ({
  metadata: { namespace: 'ns', name, uid, resourceVersion },
});

function recorded(extra: StoreHandlers<Thing> = {}) {
  const reported: string[] = [];
  const thrown: unknown[] = [];
  const say = ({ metadata }: Thing) => `${metadata.name}:${metadata.uid}@${metadata.resourceVersion}`;
  const store = new Store<Thing>(
    {
      added: (object) => reported.push(`added ${say(object)}`),
      updated: (object, before) => reported.push(`updated ${say(before)} to ${say(object)}`),
      deleted: (object) => reported.push(`deleted ${say(object)}`),
      ...extra,
    },
    (error) => thrown.push(error),
  );
  return { store, reported, thrown };
}

test('an object is added, updated when its version changes, and deleted', () => {
  const { store, reported } = recorded();
  store.put(thing('a', 'u1', '1'));
  store.put(thing('a', 'u1', '1'));
  store.put(thing('a', 'u1', '2'));
  store.delete(thing('a', 'u1', '3'));
  expect(reported).toEqual(['added a:u1@1', 'updated a:u1@1 to a:u1@2', 'deleted a:u1@3']);
  expect(store.size).toBe(0);
});

test('another object under a known name is the end of the first and a new one', () => {
  const { store, reported } = recorded();
  store.put(thing('a', 'u1', '1'));
  store.put(thing('a', 'u2', '5'));
  expect(reported).toEqual(['added a:u1@1', 'deleted a:u1@1', 'added a:u2@5']);
  expect(store.get('ns', 'a')?.metadata.uid).toBe('u2');
});

test('the deletion of an object whose name belongs to another object by now is not reported', () => {
  const { store, reported } = recorded();
  store.put(thing('a', 'u2', '5'));
  store.delete(thing('a', 'u1', '4'));
  expect(reported).toEqual(['added a:u2@5']);
});

test('a list reports what was deleted, added, changed and replaced since, and nothing else', () => {
  const { store, reported } = recorded();
  store.replace([
    thing('same', 'u1', '1'),
    thing('removed', 'u2', '1'),
    thing('new uid', 'u3', '1'),
    thing('new', 'u4', '1'),
  ]);
  reported.length = 0;
  store.replace([
    thing('same', 'u1', '1'),
    thing('new uid', 'u5', '9'),
    thing('new', 'u4', '2'),
    thing('come', 'u6', '9'),
  ]);
  expect(reported).toEqual([
    'deleted removed:u2@1',
    'deleted new uid:u3@1',
    'added new uid:u5@9',
    'updated new:u4@1 to new:u4@2',
    'added come:u6@9',
  ]);
});

test('a handler that throws or rejects is reported and the object is kept', async () => {
  const { store, thrown } = recorded({
    added: () => {
      throw new Error('sync');
    },
    // The type of a handler lets through one that gives a promise.
    updated: () => Promise.reject(new Error('async')) as unknown as void,
  });
  store.put(thing('a', 'u1', '1'));
  store.put(thing('a', 'u1', '2'));
  await new Promise((resolve) => setImmediate(resolve));
  expect(thrown.map(String)).toEqual(['Error: sync', 'Error: async']);
  expect(store.get('ns', 'a')?.metadata.resourceVersion).toBe('2');
});
