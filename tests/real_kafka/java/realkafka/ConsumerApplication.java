package realkafka;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerInterceptor;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A member of a group that reads, processes and commits as a playbook's group does. */
final class ConsumerApplication extends Application {
    private static final String HISTORY = "floodmark.application";
    private static final Duration POLL = Duration.ofMillis(100);
    private final String commit;
    private volatile long processingUs;
    private volatile long stallUs;
    private volatile boolean paused;
    private KafkaConsumer<String, String> consumer;

    ConsumerApplication(Settings settings, Lines history) {
        super(settings, history);
        commit = settings.text("commit", "auto");
        processingUs = settings.number("processing_us", 0);
    }

    @Override
    void work() throws InterruptedException {
        Map<String, Object> config = settings.config();
        List<String> topics = settings.list("topics");
        history.event(name, "started", "kind", "consumer", "incarnation", settings.number("incarnation", 1), "config",
                config, "topics", topics, "group", settings.text("group", ""));
        config.put(HISTORY, this);
        config.put("interceptor.classes", Commits.class.getName());
        consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        try {
            String pattern = settings.text("pattern", "");
            List<TopicPartition> fixed = settings.list("assign").stream().map(ConsumerApplication::partition).toList();
            if (settings.text("coordinated", "true").equals("false")) {
                consumer.assign(fixed);
                consumer.seekToBeginning(fixed);
            } else if (pattern.isEmpty()) {
                consumer.subscribe(topics, new Rebalances());
            } else {
                consumer.subscribe(Pattern.compile(pattern), new Rebalances());
            }
            while (!closing) {
                pollOnce();
            }
        } catch (FencedInstanceIdException | AuthorizationException error) {
            error("poll", error);
        }
        try {
            consumer.close();
        } catch (KafkaException error) {
            error("close", error);
        }
    }

    private static TopicPartition partition(String name) {
        int at = name.lastIndexOf('-');
        return new TopicPartition(name.substring(0, at), Integer.parseInt(name.substring(at + 1)));
    }

    private void pollOnce() {
        try {
            ConsumerRecords<String, String> records = consumer.poll(POLL);
            if (!records.isEmpty()) {
                handle(records);
            }
        } catch (WakeupException error) {
            // closing is set
        } catch (FencedInstanceIdException | AuthorizationException error) {
            throw error;
        } catch (KafkaException error) {
            error("poll", error);
            sleepUntil(Lines.nowUs() + 100_000);
        }
    }

    private void handle(ConsumerRecords<String, String> records) {
        List<Object> shown = new ArrayList<>(records.count());
        for (ConsumerRecord<String, String> record : records) {
            String value = record.value();
            String label = value == null ? "" : value.split(" ", 2)[0];
            shown.add(List.of(record.topic() + "-" + record.partition(), record.offset(),
                    record.leaderEpoch().orElse(-1), label));
        }
        history.event(name, "polled", "records", shown);
        if (commit.equals("before")) {
            commitSync();
        }
        long workUs = processingUs * records.count() + stallUs;
        if (workUs > 0) {
            sleepUntil(Lines.nowUs() + workUs);
        }
        if (commit.equals("sync")) {
            commitSync();
        } else if (commit.equals("async")) {
            consumer.commitAsync((offsets, error) -> {
                if (error != null) {
                    commitFailed(offsets, error);
                }
            });
        }
    }

    private void commitSync() {
        try {
            consumer.commitSync();
        } catch (WakeupException error) {
            throw error;
        } catch (KafkaException error) {
            commitFailed(Map.of(), error);
        }
    }

    private void commitFailed(Map<TopicPartition, OffsetAndMetadata> offsets, Exception error) {
        history.event(name, "commit_failed", "offsets", plain(offsets), "mode", commit, "error", Lines.code(error),
                "exception", Lines.kind(error));
    }

    private static TreeMap<String, Long> plain(Map<TopicPartition, OffsetAndMetadata> offsets) {
        TreeMap<String, Long> found = new TreeMap<>();
        offsets.forEach((partition, offset) -> found.put(partition.toString(), offset.offset()));
        return found;
    }

    @Override
    void command(List<String> words) {
        switch (words.get(0)) {
            case "settle" -> { }
            case "stall" -> stallUs = Long.parseLong(words.get(1));
            case "processing" -> processingUs = Long.parseLong(words.get(1));
            default -> System.err.println("no such command of a consumer: " + words);
        }
    }

    @Override
    void close() {
        closing = true;
        if (consumer != null) {
            consumer.wakeup();
        }
    }

    /** Writes assignments as they take effect. */
    private final class Rebalances implements ConsumerRebalanceListener {
        private void write(String event, Collection<TopicPartition> partitions) {
            List<String> names = partitions.stream().map(TopicPartition::toString).sorted().toList();
            if (event.equals("assigned")) {
                List<String> owned = consumer.assignment().stream().map(TopicPartition::toString).sorted().toList();
                var group = consumer.groupMetadata();
                history.event(name, event, "partitions", names, "owned", owned, "member", group.memberId(),
                        "generation", group.generationId());
            } else {
                history.event(name, event, "partitions", names);
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            write("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            write("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            write("lost", partitions);
        }
    }

    /** Sees every successful commit, automatic ones too. */
    public static final class Commits implements ConsumerInterceptor<String, String> {
        private ConsumerApplication application;

        @Override
        public void configure(Map<String, ?> config) {
            application = (ConsumerApplication) config.get(HISTORY);
        }

        @Override
        public ConsumerRecords<String, String> onConsume(ConsumerRecords<String, String> records) {
            return records;
        }

        @Override
        public void onCommit(Map<TopicPartition, OffsetAndMetadata> offsets) {
            if (!offsets.isEmpty()) {
                application.history.event(application.name, "committed", "offsets", plain(offsets), "mode",
                        application.commit);
            }
        }

        @Override
        public void close() { }
    }
}
