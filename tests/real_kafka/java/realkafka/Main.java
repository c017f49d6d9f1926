package realkafka;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Clients of a scenario in one process: Main HISTORY [--admin BOOTSTRAP] [--metadata DIRECTORY...] [SETTINGS...].
 *
 * Commands are lines on standard input, words separated by tabs; answers are JSON lines on standard output. "begin
 * START" begins the scenario, "to CLIENT COMMAND..." is for one client, "admin ID VERB KEY=VALUE..." is an operation.
 */
public final class Main {
    private Main() { }

    public static void main(String[] arguments) throws Exception {
        Lines history = new Lines(arguments[0]);
        Lines answers = new Lines(System.out);
        Map<String, Application> applications = new LinkedHashMap<>();
        AdminOperations admin = null;
        for (int i = 1; i < arguments.length; i++) {
            if (arguments[i].equals("--admin")) {
                admin = new AdminOperations(arguments[++i], answers);
            } else if (arguments[i].equals("--metadata")) {
                new MetadataTail(arguments[++i], Integer.parseInt(arguments[++i]), answers).start();
            } else {
                Settings settings = new Settings(arguments[i]);
                Application application = settings.text("kind", "").equals("producer")
                        ? new ProducerApplication(settings, history) : new ConsumerApplication(settings, history);
                applications.put(application.name, application);
            }
        }
        warmUp(applications);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(applications)));
        applications.values().forEach(application -> application.thread.start());
        answers.write("event", "ready");
        try (BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                obey(List.of(line.split("\t")), applications, admin);
            }
        }
        Runtime.getRuntime().halt(0); // the runner has gone
    }

    /** Loads the classes of the clients, so that the first seconds of a scenario are not spent on that. */
    private static void warmUp(Map<String, Application> applications) {
        if (applications.isEmpty()) {
            return;
        }
        String nowhere = "127.0.0.1:9";
        new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", nowhere), new StringSerializer(),
                new StringSerializer()).close(Duration.ZERO);
        try (var consumer = new KafkaConsumer<>(Map.<String, Object>of("bootstrap.servers", nowhere, "group.id", "none",
                "enable.auto.commit", false), new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("none"));
            consumer.poll(Duration.ofMillis(50));
            consumer.close(Duration.ZERO);
        }
    }

    private static void obey(List<String> words, Map<String, Application> applications, AdminOperations admin) {
        switch (words.get(0)) {
            case "begin" -> applications.values().forEach(each -> each.begin(Long.parseLong(words.get(1))));
            case "to" -> applications.get(words.get(1)).command(words.subList(2, words.size()));
            case "settle" -> applications.values().forEach(each -> each.command(words));
            case "admin" -> admin.perform(words.get(1), words.get(2), words.subList(3, words.size()));
            default -> System.err.println("no such command: " + words);
        }
    }

    private static void close(Map<String, Application> applications) {
        List<Thread> threads = new ArrayList<>();
        for (Application application : applications.values()) {
            application.close();
            threads.add(application.thread);
        }
        for (Thread thread : threads) {
            try {
                thread.join(60_000);
            } catch (InterruptedException error) {
                return;
            }
        }
    }
}
