package realkafka;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Semaphore;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringSerializer;

/** A producer that makes records at a rate, or in a closed loop, as a playbook's producer does. */
final class ProducerApplication extends Application {
    private final String topic;
    private final long batch;
    private final long bytes;
    private final long keys;
    private final long tombstones;
    private final int partition;
    private final String send;
    private final long flushEvery;
    private final boolean transactional;
    private final long transactionRecords;
    private final long transactionUs;
    private final long abortEvery;
    private final long hangAt;
    private final Semaphore outstanding;
    private final Random random;
    private volatile long rate = 1_000_000; // in millionths of the usual one
    private volatile boolean settling;
    private KafkaProducer<String, String> producer;
    private long number;
    private long transaction;
    private long transactionEndUs;
    private long inTransaction;

    ProducerApplication(Settings settings, Lines history) {
        super(settings, history);
        topic = settings.text("topic", "");
        batch = settings.number("batch", 1);
        bytes = settings.number("bytes", 200);
        keys = settings.number("keys", 0);
        tombstones = settings.number("tombstones", 0);
        partition = (int) settings.number("partition", -1);
        send = settings.text("send", "async");
        flushEvery = settings.number("flush_every", 0);
        transactional = settings.config().containsKey("transactional.id");
        transactionRecords = settings.number("transaction.records", 0);
        transactionUs = settings.number("transaction.every_us", 0);
        abortEvery = settings.number("transaction.abort", 0);
        hangAt = settings.number("transaction.hang", 0);
        long loop = settings.number("loop.outstanding", 0);
        outstanding = loop > 0 ? new Semaphore((int) loop) : null;
        number = settings.number("first", 0);
        random = new Random(settings.number("seed", 0));
    }

    @Override
    void work() throws InterruptedException {
        Map<String, Object> config = settings.config();
        history.event(name, "started", "kind", "producer", "incarnation", settings.number("incarnation", 1), "config",
                config, "topics", List.of(topic), "group", "");
        producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
        try {
            if (transactional) {
                producer.initTransactions();
            }
            produce();
        } catch (KafkaException error) {
            error("send", error); // it ends the application, as an exception that nothing handles
            producer.close(Duration.ZERO);
            return;
        }
        if (closing) {
            producer.close(Duration.ofMillis(settings.number("close_ms", 30_000)));
        }
    }

    private void produce() throws InterruptedException {
        long intervalNs = settings.number("interval_ns", 0);
        long firstUs = Math.max(startUs + settings.number("start_us", 0), Lines.nowUs());
        long stopUs = settings.number("stop_us", -1);
        long dueNs = 0; // since the first record
        sleepUntil(firstUs);
        while (!closing) {
            if (settling || (intervalNs == 0 && outstanding == null) || (stopUs >= 0 && Lines.nowUs() >= startUs + stopUs)) {
                endTransaction(true);
                if (settings.text("closes", "").equals("true")) {
                    closing = true;
                }
                sleepUntil(Lines.nowUs() + 100_000);
                continue;
            }
            beginTransaction();
            for (long i = 0; i < batch; i++) {
                if (outstanding != null) {
                    outstanding.acquire();
                }
                sendOne();
            }
            endTransaction(false);
            if (outstanding == null) {
                dueNs = waitForTurn(firstUs, dueNs, intervalNs);
            } else {
                sleepUntil(Lines.nowUs() + settings.number("loop.think_us", 0));
            }
        }
        endTransaction(true);
    }

    /** Waits for the next batch; a new rate counts from the time of its change. Returns when it is due, since the first. */
    private long waitForTurn(long firstUs, long lastNs, long intervalNs) {
        long used = rate;
        long dueNs = lastNs + after(intervalNs, used);
        while (!closing && Lines.nowUs() < firstUs + dueNs / 1_000) {
            sleepUntil(Math.min(firstUs + dueNs / 1_000, Lines.nowUs() + 20_000));
            if (rate != used) {
                used = rate;
                dueNs = (Lines.nowUs() - firstUs) * 1_000 + after(intervalNs, used);
            }
            if (settling) {
                break;
            }
        }
        return dueNs;
    }

    private static long after(long intervalNs, long rate) {
        return rate == 0 ? Long.MAX_VALUE / 4 : Math.round((double) intervalNs * 1_000_000 / rate);
    }

    private void sendOne() throws InterruptedException {
        long mine = number++;
        String key = keys == 0 ? null : "key-" + random.nextInt((int) keys);
        String value = tombstones > 0 && (mine + 1) % tombstones == 0 ? null : value(mine);
        if (transactional) {
            history.event(name, "sent", "number", mine, "topic", topic, "partition", partition, "key", key,
                    "transaction", transaction);
        } else {
            history.event(name, "sent", "number", mine, "topic", topic, "partition", partition, "key", key);
        }
        try {
            var future = producer.send(new ProducerRecord<>(topic, partition < 0 ? null : partition, key, value),
                    (metadata, error) -> answered(mine, metadata, error));
            if (send.equals("sync")) {
                future.get();
            }
        } catch (ExecutionException error) {
            return; // the callback has written it
        } catch (ProducerFencedException error) {
            failed(mine, "", error);
            throw error;
        } catch (KafkaException | IllegalStateException error) {
            failed(mine, "", error);
            if (outstanding != null) {
                outstanding.release();
            }
        }
        if (flushEvery > 0 && number % flushEvery == 0) {
            producer.flush();
        }
    }

    private String value(long mine) {
        String value = name + ":" + mine;
        long padding = bytes - value.length() - 1;
        return padding <= 0 ? value : value + " " + ".".repeat((int) padding);
    }

    private void answered(long mine, org.apache.kafka.clients.producer.RecordMetadata metadata, Exception error) {
        if (outstanding != null) {
            outstanding.release();
        }
        String where = metadata == null || metadata.partition() < 0 ? "" : metadata.topic() + "-" + metadata.partition();
        if (error == null) {
            history.event(name, "acked", "number", mine, "partition", where, "offset",
                    metadata.hasOffset() ? metadata.offset() : -1);
        } else {
            failed(mine, where, error);
        }
    }

    private void failed(long mine, String where, Throwable error) {
        history.event(name, "failed", "number", mine, "partition", where, "error", Lines.code(error), "exception",
                Lines.kind(error), "message", String.valueOf(Lines.cause(error).getMessage()));
    }

    // -- transactions -------------------------------------------------------------------------------------------------

    private void beginTransaction() {
        if (!transactional || inTransaction > 0) {
            return;
        }
        transaction++;
        transactionEndUs = Lines.nowUs() + (transactionUs > 0 ? transactionUs : 100_000);
        producer.beginTransaction();
        transactionEvent("begun", null);
    }

    /** Ends the open transaction if its plan says so, or at once with "now". */
    private void endTransaction(boolean now) {
        if (!transactional || transaction == 0 || (now && inTransaction == 0)) {
            return;
        }
        inTransaction += now ? 0 : batch;
        boolean full = transactionRecords > 0 && inTransaction >= transactionRecords;
        boolean old = (transactionRecords == 0 || transactionUs > 0) && Lines.nowUs() >= transactionEndUs;
        if (!now && !full && !old) {
            return;
        }
        if (transaction == hangAt) {
            settling = true; // it stays open, and no more records are made
            inTransaction = 0;
            return;
        }
        inTransaction = 0;
        try {
            if (abortEvery > 0 && transaction % abortEvery == 0) {
                producer.abortTransaction();
                transactionEvent("aborted", null);
            } else {
                producer.commitTransaction();
                transactionEvent("committed", null);
            }
        } catch (ProducerFencedException error) {
            transactionEvent("failed", error);
            throw error;
        } catch (KafkaException error) {
            transactionEvent("failed", error);
            producer.abortTransaction();
            transactionEvent("aborted", null);
        }
    }

    private void transactionEvent(String action, Throwable error) {
        if (error == null) {
            history.event(name, "transaction", "action", action, "transaction", transaction);
        } else {
            history.event(name, "transaction", "action", action, "transaction", transaction, "error", Lines.code(error),
                    "exception", Lines.kind(error));
        }
    }

    @Override
    void command(List<String> words) {
        switch (words.get(0)) {
            case "settle" -> settling = true;
            case "rate" -> rate = Long.parseLong(words.get(1));
            default -> System.err.println("no such command of a producer: " + words);
        }
    }

    @Override
    void close() {
        closing = true;
    }
}
