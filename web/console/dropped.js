import { useEffect, useRef, useState } from 'preact/hooks';
import { ask, faultsOf, textOf } from './api.js';
import { announce } from './dialogs.js';
import { hashFor, uploadFile } from './upload.js';

// Files that were dropped or chosen: each is uploaded and submitted, two at a time. They go on whatever page is shown,
// until the person signs out.

/** @import { DroppedFile, DroppedOptions, JobType, Submission } from './types.ts' */

const atOnce = 2;

/** @type {readonly DroppedFile[]} */
let files = [];
let lastId = 0;
let stopping = new AbortController();
/** @type {Set<() => void>} */
const watchers = new Set();

/** @param {readonly DroppedFile[]} changed */
function change(changed) {
  files = changed;
  for (const watch of watchers) watch();
}

/** @param {number} id @param {Partial<DroppedFile>} more */
const update = (id, more) => change(files.map((each) => (each.id === id ? { ...each, ...more } : each)));

/** A cover needs a video, so audio is a stream alone. @param {string} contentType @returns {JobType} */
function typeFor(contentType) {
  const [kind] = contentType.split('/');
  return kind === 'image' ? 'image:thumbnail' : kind === 'audio' ? 'video:transcode' : 'video:full';
}

/** Sizes of an image for those who choose none. */
const imageOptions = { outputs: [{ variant: 'thumb', width: 300, format: /** @type {const} */ ('webp') }] };

/** @param {string} source @param {DroppedFile} file @returns {Submission} */
function submissionOf(source, { file, options }) {
  const hash = hashFor(file.name);
  const type = typeFor(file.type);
  const { encrypt, hasImages } = options;
  if (type === 'image:thumbnail') return { type, hash, source, options: imageOptions };
  if (type === 'video:full' && hasImages) return { type, hash, source, options: { transcode: { encrypt } } };
  return { type: 'video:transcode', hash, source, options: { encrypt } };
}

/** @param {DroppedFile} dropped */
async function send(dropped) {
  const { id, file, options } = dropped;
  const { signal } = stopping;
  const ending = AbortSignal.any([signal, dropped.stopping.signal]);
  const began = Date.now();
  const onProgress = (/** @type {number} */ share) => {
    const rate = (share * file.size) / Math.max(0.5, (Date.now() - began) / 1000);
    if (!ending.aborted) update(id, { share, rate });
  };
  update(id, { state: 'uploading' });
  try {
    const { source } = await uploadFile(file, { signal: ending, onProgress });
    const header = options.profile === '' || file.type.startsWith('image/') ? {} : { 'X-Profile': options.profile };
    const body = submissionOf(source, dropped);
    const job = await ask((http) => http.POST('/api/jobs', { body, params: { header } }));
    if (signal.aborted) return;
    update(id, { state: 'submitted', jobId: job.job_id });
    announce(`${file.name} was submitted.`);
  } catch (problem) {
    if (signal.aborted) return;
    const faults = faultsOf(problem).map(({ pointer, detail }) => `${pointer.slice(1)} ${detail}.`);
    const text = dropped.stopping.signal.aborted ? 'It was stopped.' : [textOf(problem), ...faults].join(' ');
    update(id, { state: 'failed', text });
    announce(`${file.name}: ${text}`, 'fault');
  }
  sendNext();
}

function sendNext() {
  const free = atOnce - files.filter(({ state }) => state === 'uploading').length;
  for (const dropped of files.filter(({ state }) => state === 'waiting').slice(0, Math.max(0, free)))
    void send(dropped);
}

/** Uploads and submits files. @param {readonly File[]} given @param {DroppedOptions} options */
export function addFiles(given, options) {
  const added = given.map((file) => {
    lastId += 1;
    const empty = { share: 0, rate: 0, text: '', jobId: '' };
    return {
      id: lastId,
      file,
      options,
      state: /** @type {const} */ ('waiting'),
      stopping: new AbortController(),
      ...empty,
    };
  });
  change([...added, ...files]);
  sendNext();
}

/** Ends the upload of a file, or takes it out of the list. @param {DroppedFile} dropped */
export function stopFile({ id, state, stopping: own }) {
  own.abort();
  if (state !== 'uploading') change(files.filter((each) => each.id !== id));
}

/** Ends everything: the person has signed out. */
export function stopFiles() {
  stopping.abort();
  stopping = new AbortController();
  change([]);
}

/** The files, the latest first. */
export function useFiles() {
  const [, renew] = useState(0);
  useEffect(() => {
    const watch = () => renew((turn) => turn + 1);
    watchers.add(watch);
    return () => void watchers.delete(watch);
  }, []);
  return files;
}

/** The options of files that are dropped on any page. @type {DroppedOptions} */
export let chosenOptions = { encrypt: true, hasImages: true, profile: '' };
/** @param {Partial<DroppedOptions>} more */
export const chooseOptions = (more) => (chosenOptions = { ...chosenOptions, ...more });

/** Calls `onDrop` with files that are dropped on the page. @param {boolean} isTaken @param {(files: File[]) => void} onDrop */
export function useDrop(isTaken, onDrop) {
  const latest = useRef({ isTaken, onDrop });
  latest.current = { isTaken, onDrop };
  useEffect(() => {
    let dragged = 0;
    const setDragged = (/** @type {number} */ count) => {
      dragged = Math.max(0, count);
      document.body.toggleAttribute('data-dragged', dragged > 0 && latest.current.isTaken);
    };
    /** Text that is dragged into a field is the browser's. @param {'dragenter' | 'dragleave' | 'dragover' | 'drop'} name @param {(event: DragEvent) => void} run */
    const onFiles = (name, run) =>
      window.addEventListener(name, (event) => {
        if (event.dataTransfer?.types.includes('Files')) run(event);
      });
    onFiles('dragenter', () => setDragged(dragged + 1));
    onFiles('dragleave', () => setDragged(dragged - 1));
    onFiles('dragover', (event) => event.preventDefault());
    onFiles('drop', (event) => {
      event.preventDefault();
      setDragged(0);
      latest.current.onDrop([...(event.dataTransfer?.files ?? [])]);
    });
  }, []);
}
